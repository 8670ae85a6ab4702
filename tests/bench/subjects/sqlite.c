// sqlite ROWS: makes tables in memory, with an index, and asks for sums, joins and sorted lists.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static sqlite3* database;
static unsigned long sum;

static int row(void* unused, int columns, char** values, char** names) {
  (void)unused, (void)names;
  for (int i = 0; i < columns; ++i) sum = sum * 31 + (values[i] ? strtoul(values[i], NULL, 10) : 1);
  return 0;
}

static void run(const char* statement) {
  char* message = NULL;
  if (sqlite3_exec(database, statement, row, NULL, &message) == SQLITE_OK) return;
  fprintf(stderr, "sqlite: %s\n", message);
  exit(1);
}

int main(int argc, char** argv) {
  char filled[300];
  snprintf(filled, sizeof filled,
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
           " INSERT INTO item SELECT i, 'name-' || (i * 7919 %% 1009), i * 7919 %% 10007 FROM n",
           argc > 1 ? atoi(argv[1]) : 1000);
  if (sqlite3_open(":memory:", &database) != SQLITE_OK) return 1;
  run("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, size INTEGER)");
  run(filled);
  run("CREATE INDEX by_name ON item(name)");
  run("SELECT name, count(*), sum(size) FROM item GROUP BY name ORDER BY 3 DESC");
  run("SELECT a.id, b.size FROM item a JOIN item b ON b.id = a.size WHERE a.name LIKE 'name-1%'");
  run("SELECT substr(name, 2, 6) || size, size * 3 FROM item WHERE size % 7 = 3 ORDER BY size, name");
  run("UPDATE item SET size = size + 1 WHERE name IN (SELECT name FROM item WHERE size < 500)");
  run("DELETE FROM item WHERE size % 3 = 0");
  sqlite3_close(database);
  printf("%lu\n", sum);
  return 0;
}
