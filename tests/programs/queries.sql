-- For sqlite3 to be profiled with. What it prints depends on nothing but itself.
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer TEXT, amount REAL, day INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO orders SELECT i, 'customer ' || (i * 7919 % 101), (i * 104729 % 10007) / 100.0, i % 365 FROM n;
CREATE INDEX by_customer ON orders(customer, day);
SELECT count(*), round(sum(amount), 2), min(day), max(day) FROM orders;
SELECT customer, count(*), round(avg(amount), 3) FROM orders GROUP BY customer ORDER BY 3 DESC LIMIT 5;
SELECT a.id, b.id FROM orders a JOIN orders b ON a.customer = b.customer AND a.day = b.day + 1 WHERE a.id < 500 ORDER BY 1, 2 LIMIT 5;
UPDATE orders SET amount = amount * 1.1 WHERE day BETWEEN 10 AND 20;
DELETE FROM orders WHERE customer LIKE '%13';
SELECT day, sum(amount) OVER (ORDER BY day ROWS 3 PRECEDING) FROM (SELECT day, round(sum(amount), 1) AS amount FROM orders GROUP BY day) LIMIT 5;
SELECT json_extract('{"a":[1,2,{"b":"deep"}]}', '$.a[2].b'), printf('%08.3f', 3.14159), upper(hex('profile'));
SELECT group_concat(substr(customer, 10), '+') FROM (SELECT DISTINCT customer FROM orders ORDER BY customer LIMIT 6);
EXPLAIN QUERY PLAN SELECT * FROM orders WHERE customer = 'customer 7' AND day > 3;
SELECT nonsense FROM orders;
PRAGMA integrity_check;
VACUUM;
SELECT count(*) FROM sqlite_master;
