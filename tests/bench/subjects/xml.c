// xml ROUNDS: libxml2 parses a document of 100,000 elements, finds some by XPath, and writes it.
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char* document(int elements, int* size) {
  char* text = malloc(100 * (size_t)elements + 100);
  char* end = text + sprintf(text, "<list>");
  for (int i = 0; i < elements; i++)
    end += sprintf(end, "<item id=\"%d\" kind='k%d'><name>number &lt;%d&gt;</name></item>\n", i, i % 17, i);
  *size = (int)(end + sprintf(end, "</list>") - text);
  return text;
}

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 1, size;
  char* text = document(100000, &size);
  for (int i = 0; i < rounds; i++) {
    xmlDoc* doc = xmlReadMemory(text, size, "list.xml", NULL, 0);
    xmlXPathContext* context = xmlXPathNewContext(doc);
    xmlXPathObject* found = xmlXPathEvalExpression((const xmlChar*)"count(//item[@kind='k3']/name)", context);
    xmlChar* written;
    int length;
    xmlDocDumpMemory(doc, &written, &length);
    if (i == 0) printf("%.0f %d\n", found->floatval, length);
    xmlFree(written);
    xmlXPathFreeObject(found);
    xmlXPathFreeContext(context);
    xmlFreeDoc(doc);
  }
  return 0;
}
