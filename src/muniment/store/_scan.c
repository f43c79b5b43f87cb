/* The functions of scan.py, which says what they do. Here a text is read once, byte by byte. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define CAPITAL 'A'
#define SMALL 'a'
#define OUTSIDE ' '

typedef struct {
    const unsigned char *bytes;
    Py_ssize_t size;
    const char *shapes;  /* of every byte: CAPITAL, SMALL or OUTSIDE of a name */
} Text;

static char shape_at(const Text *text, Py_ssize_t at)
{
    return at < text->size ? text->shapes[text->bytes[at]] : OUTSIDE;
}

/* Whether the capital at this place begins a word inside of a name: `checkToken`, `HTTPServer`. */
static int is_hump(const Text *text, Py_ssize_t at)
{
    char before = at > 0 ? shape_at(text, at - 1) : OUTSIDE;
    return before == SMALL || (before == CAPITAL && shape_at(text, at + 1) == SMALL);
}

static int add_name(PyObject *names, const Text *text, Py_ssize_t start, Py_ssize_t end)
{
    PyObject *name = PyBytes_FromStringAndSize((const char *)text->bytes + start, end - start);
    int failed = name == NULL || PySet_Add(names, name) < 0;
    Py_XDECREF(name);
    return failed ? -1 : 0;
}

static int add_names(PyObject *names, const Text *text, Py_ssize_t longest)
{
    Py_ssize_t past = 0;  /* the end of the last name: no name begins before it */
    for (Py_ssize_t at = 0; at < text->size; at++) {
        if (shape_at(text, at) != CAPITAL || !is_hump(text, at))
            continue;
        Py_ssize_t start = at, end = at;
        while (start > past && shape_at(text, start - 1) != OUTSIDE)
            start--;
        while (shape_at(text, end) != OUTSIDE)
            end++;
        if (end - start <= longest && add_name(names, text, start, end) < 0)
            return -1;
        past = at = end;
    }
    return 0;
}

static PyObject *humped(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *bytes, *shapes;
    Py_ssize_t size, count, longest;
    if (!PyArg_ParseTuple(args, "y#y#n:humped", &bytes, &size, &shapes, &count, &longest))
        return NULL;
    if (count != 256)
        return PyErr_Format(PyExc_ValueError, "there are 256 shapes, not %zd", count);
    Text text = {(const unsigned char *)bytes, size, shapes};
    PyObject *names = PySet_New(NULL);
    if (names != NULL && add_names(names, &text, longest) < 0)
        Py_CLEAR(names);
    return names;
}

/* So many bytes are looked at before anybody asks what was found. */
#define AT_ONCE 16

static PyObject *has_any(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *bytes, *wanted;
    Py_ssize_t size, count, at = 0;
    if (!PyArg_ParseTuple(args, "y#y#:has_any", &bytes, &size, &wanted, &count))
        return NULL;
    char is_wanted[256] = {0}, found = 0;
    for (Py_ssize_t next = 0; next < count; next++)
        is_wanted[(unsigned char)wanted[next]] = 1;
    for (; at + AT_ONCE <= size && !found; at += AT_ONCE)
        for (int next = 0; next < AT_ONCE; next++)
            found |= is_wanted[(unsigned char)bytes[at + next]];
    for (; at < size && !found; at++)
        found = is_wanted[(unsigned char)bytes[at]];
    return PyBool_FromLong(found);
}

/* Whether the eight bytes at this place are all of ASCII. */
static int are_ascii(const char *bytes)
{
    uint64_t eight;
    memcpy(&eight, bytes, sizeof eight);
    return !(eight & 0x8080808080808080);
}

static PyObject *foreign(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *bytes;
    Py_ssize_t size, kept = 0;
    if (!PyArg_ParseTuple(args, "y#:foreign", &bytes, &size))
        return NULL;
    char *found = PyMem_Malloc(size ? size : 1);
    if (found == NULL)
        return PyErr_NoMemory();
    for (Py_ssize_t at = 0; at < size;) {
        if (at + 8 <= size && are_ascii(bytes + at)) {
            at += 8;
            continue;
        }
        found[kept] = bytes[at];
        kept += (unsigned char)bytes[at++] > 127;
    }
    PyObject *made = PyBytes_FromStringAndSize(found, kept);
    PyMem_Free(found);
    return made;
}

static PyMethodDef methods[] = {
    {"foreign", foreign, METH_VARARGS, "The bytes of a text that are none of ASCII."},
    {"has_any", has_any, METH_VARARGS, "Whether a text has one of these bytes."},
    {"humped", humped, METH_VARARGS, "Names in which a capital begins a new word."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_scan",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__scan(void)
{
    return PyModuleDef_Init(&module);
}
