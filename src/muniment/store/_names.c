/* `humped` of names.py, which says what it does. Here a text is read once, byte by byte. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

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

static PyMethodDef methods[] = {
    {"humped", humped, METH_VARARGS, "Names in which a capital begins a new word."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_names",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__names(void)
{
    return PyModuleDef_Init(&module);
}
