# SPDX-License-Identifier: BSD-3-Clause
"""The elements of testcase/poisson: products by sum factorisation against dense matrices of NumPy.

NumPy integrates in three dimensions at once, without the tensor products that the elements use.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial import legendre, polynomial

pytestmark = pytest.mark.long  # of the solver alone

HERE = Path(__file__).resolve().parent
CASE = HERE.parents[1] / "testcase" / "poisson"
ORDERS = range(1, 9)
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double, ctypes.c_double)
ROUNDING = 1e-13  # of sums of at most 729 terms, against the largest of them


def doubles(values) -> ctypes.c_void_p:
    """The address of an array of float64."""
    assert values.dtype == np.float64 and values.flags.c_contiguous, values.dtype
    return values.ctypes.data_as(ctypes.c_void_p)


class Elements:
    """Elements of one order; `nodes` lists those of each element, (n_elements, (order + 1)**3)."""

    def __init__(self, library, order, nodes, size, kappa, corner=None, hanging=None):
        self.library, self.order = library, order
        self.nodes = np.ascontiguousarray(nodes, np.int32)
        size, kappa = (np.asarray(values, float) for values in (size, kappa))
        corner = np.zeros((len(size), 3)) if corner is None else np.asarray(corner, float)
        codes = None if hanging is None else np.asarray(hanging, np.uint32)
        self.n_local = int(self.nodes.max()) + 1
        pointers = [None if a is None else a.ctypes.data_as(ctypes.c_void_p) for a in (self.nodes, codes)]
        self.made = library.make(
            order, len(size), *pointers, *(doubles(np.ascontiguousarray(a)) for a in (corner, size, kappa))
        )

    def product(self, u, *ranges):
        """A u, taken over the ranges of elements; over all, if none is given."""
        b = np.zeros(self.n_local)
        for first, last in ranges or [(0, len(self.nodes))]:
            self.library.apply(self.made, first, last, doubles(u), doubles(b))
        return b

    def diagonal(self):
        """The diagonal of A."""
        d = np.zeros(self.n_local)
        self.library.diagonal(self.made, doubles(d))
        return d

    def load(self, f):
        """The integrals of f times each node's function."""
        b = np.zeros(self.n_local)
        self.library.load(self.made, FUNCTION(f), doubles(b))
        return b

    def squared_error(self, exact, u):
        """The integral of (u - exact)**2."""
        return self.library.squared_error(self.made, FUNCTION(exact), doubles(u))

    def matrix(self, element):
        """The dense matrix of one element."""
        a = np.empty((self.nodes.shape[1],) * 2)
        self.library.matrix(self.made, element, doubles(a))
        return a

    def assembled(self):
        """A as a dense matrix, from those of its elements."""
        a = np.zeros((self.n_local,) * 2)
        for element, nodes in enumerate(self.nodes):
            np.add.at(a, np.ix_(nodes, nodes), self.matrix(element))
        return a


@pytest.fixture(scope="session")
def library(poisson, tmp_path_factory):
    """The elements that the solver uses, called through ctypes."""
    built = tmp_path_factory.mktemp("elements") / "libelements.so"
    flags = ["-std=c++17", "-O1", "-fPIC", "-shared", f"-I{CASE}"]
    sources = [HERE / "programs" / "elements.cpp", poisson.parent / "libsolver.a"]
    subprocess.run(["g++", *flags, *sources, "-o", built], check=True, timeout=600)
    found = ctypes.CDLL(str(built))
    pointer, real = ctypes.c_void_p, ctypes.c_double
    found.make.restype, found.squared_error.restype = pointer, real
    found.make.argtypes = [ctypes.c_int, ctypes.c_int] + 5 * [pointer]
    found.apply.argtypes = [pointer, ctypes.c_int, ctypes.c_int, pointer, pointer]
    found.diagonal.argtypes = [pointer, pointer]
    found.load.argtypes = [pointer, FUNCTION, pointer]
    found.squared_error.argtypes = [pointer, FUNCTION, pointer]
    found.matrix.argtypes = [pointer, ctypes.c_int, pointer]
    found.points.argtypes = [ctypes.c_int, pointer]
    return found


def points_of(library, order):
    """The nodes of a line of this order on [0, 1]."""
    x = np.empty(order + 1)
    library.points(order, doubles(x))
    return x


def one_element(library, order, *, size=1.0, kappa=1.0, corner=(0, 0, 0), code=0):
    """An element whose nodes are numbered x first."""
    nodes = np.arange((order + 1) ** 3)[None]
    return Elements(library, order, nodes, [size], [kappa], [corner], [code])


def random_polynomial(random, order):
    """Coefficients (order + 1,) * 3 of x**i y**j z**k."""
    return random.standard_normal((order + 1,) * 3)


def value(coefficients, x, y, z):
    """A polynomial's value."""
    return float(polynomial.polyval3d(x, y, z, coefficients))


def energy(p, q, corner, size):
    """The integral of grad p . grad q over a cube, exactly: by quadrature with enough points."""
    x, w = legendre.leggauss(max(p.shape) + 1)
    grid = [c + size * (x + 1) / 2 for c in corner]
    total = 0.0
    for axis in range(3):
        slopes = [polynomial.polyder(a, axis=axis) for a in (p, q)]
        total += np.einsum(
            "ijk,ijk,i,j,k->", *(polynomial.polygrid3d(*grid, a) for a in slopes), w, w, w, optimize=True
        )
    return total * (size / 2) ** 3


def lattice(order, shape):
    """Node numbers of the elements of a box of shape[0] x shape[1] x shape[2] elements, x fastest."""
    width = [order * n + 1 for n in shape]
    numbers = np.arange(np.prod(width)).reshape(width[::-1])
    return [
        numbers[
            k * order : (k + 1) * order + 1, j * order : (j + 1) * order + 1, i * order : (i + 1) * order + 1
        ].ravel()
        for k in range(shape[2])
        for j in range(shape[1])
        for i in range(shape[0])
    ]


@pytest.mark.parametrize("order", ORDERS)
def test_nodes_are_the_gauss_lobatto_points(library, order):
    inner = legendre.legroots(legendre.legder([0] * order + [1]))
    np.testing.assert_allclose(
        points_of(library, order), (np.r_[-1, inner, 1] + 1) / 2, rtol=0, atol=ROUNDING
    )


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_matrix_is_the_one_of_three_dimensional_quadrature(library, order):
    nodes = 2 * points_of(library, order) - 1
    basis = np.linalg.inv(legendre.legvander(nodes, order))  # column j: coefficients of function j
    x, w = legendre.leggauss(order + 1)
    values = legendre.legval(x, basis)  # (function, point)
    slopes = legendre.legval(x, legendre.legder(basis))
    n = (order + 1) ** 3
    gradients = [
        np.einsum("kr,jq,ip->kjirqp", *(slopes if axis == d else values for axis in (2, 1, 0))).reshape(n, -1)
        for d in range(3)
    ]
    weights = np.einsum("r,q,p->rqp", w, w, w).ravel()
    size, kappa = 0.3, 7.0
    expected = sum(g * weights @ g.T for g in gradients) * kappa * size / 2
    found = one_element(library, order, size=size, kappa=kappa).matrix(0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING * abs(expected).max() * 10)


@pytest.mark.parametrize("order", ORDERS)
def test_product_agrees_with_the_dense_matrices(library, order):
    shape = (3, 2, 2) if order < 4 else (1, 1, 2)  # 12 fill the lanes of a vector register, and leave some
    random = np.random.default_rng(order)
    nodes = lattice(order, shape)
    size, kappa = random.uniform(0.1, 2, (2, len(nodes)))
    elements = Elements(library, order, nodes, size, kappa)
    u = random.standard_normal(elements.n_local)
    expected = elements.assembled() @ u
    np.testing.assert_allclose(elements.product(u), expected, rtol=0, atol=ROUNDING * abs(expected).max())


def test_bits_do_not_depend_on_how_a_loop_is_divided(library):
    random = np.random.default_rng(3)
    nodes = lattice(2, (4, 3, 3))
    elements = Elements(library, 2, nodes, *random.uniform(0.1, 2, (2, len(nodes))))
    u = random.standard_normal(elements.n_local)
    whole = elements.product(u)
    for cuts in ([0, 36], [0, 1, 36], [0, 7, 9, 22, 35, 36], list(range(37))):
        assert (elements.product(u, *zip(cuts, cuts[1:])) == whole).all(), cuts


def test_an_empty_range_adds_nothing(library):
    elements = one_element(library, 2)
    assert not elements.product(np.ones(27), (0, 0)).any()


@pytest.mark.parametrize("order", ORDERS)
def test_energies_of_polynomials_are_exact(library, order):
    random = np.random.default_rng(order)
    corner, size, kappa = (0.2, -0.1, 0.4), 0.7, 2.5
    elements = one_element(library, order, size=size, kappa=kappa, corner=corner)
    z, y, x = np.meshgrid(*(c + size * points_of(library, order) for c in corner[::-1]), indexing="ij")
    p, q = (random_polynomial(random, order) for _ in range(2))
    u, v = (np.ascontiguousarray(polynomial.polyval3d(x, y, z, a).ravel()) for a in (p, q))
    exact = kappa * energy(p, q, corner, size)
    scale = np.sqrt(kappa**2 * energy(p, p, corner, size) * energy(q, q, corner, size))
    assert v @ elements.product(u) == pytest.approx(exact, abs=1e-12 * scale)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_operator_is_symmetric_and_only_constants_cost_nothing(library, order):
    elements = one_element(library, order)
    a = np.array([elements.product(unit) for unit in np.eye(elements.n_local)])
    np.testing.assert_allclose(a, a.T, rtol=0, atol=ROUNDING * abs(a).max())
    values = np.linalg.eigvalsh((a + a.T) / 2)
    assert abs(values[0]) < 1e-12 * values[-1] < values[1]
    assert abs(elements.product(np.ones(elements.n_local))).max() < 1e-12 * abs(a).max()


@pytest.mark.parametrize("order", [1, 4, 8])
def test_diagonal_is_the_matrix_diagonal(library, order):
    elements = Elements(library, order, lattice(order, (2, 1, 1)), [0.5, 0.25], [1.0, 100.0])
    expected = np.zeros(elements.n_local)
    for element, nodes in enumerate(elements.nodes):
        expected[nodes] += elements.matrix(element).diagonal()
    np.testing.assert_allclose(elements.diagonal(), expected, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 3, 6])
def test_load_and_error_integrate_polynomials_exactly(library, order):
    random = np.random.default_rng(order)
    corner, size = (0.5, 0.25, 0.0), 0.5
    elements = one_element(library, order, size=size, corner=corner)
    z, y, x = np.meshgrid(*(c + size * points_of(library, order) for c in corner[::-1]), indexing="ij")
    f, p = (random_polynomial(random, order) for _ in range(2))
    u = np.ascontiguousarray(polynomial.polyval3d(x, y, z, p).ravel())
    nodes, w = legendre.leggauss(order + 2)
    grid = [c + size * (nodes + 1) / 2 for c in corner]
    f_at, p_at = (polynomial.polygrid3d(*grid, a) for a in (f, p))
    weights = np.einsum("i,j,k->ijk", w, w, w) * (size / 2) ** 3
    product, squares = (weights * f_at * p_at).sum(), (weights * (f_at - p_at) ** 2).sum()
    assert elements.load(lambda *x: value(f, *x)) @ u == pytest.approx(product, rel=1e-11)
    assert elements.squared_error(lambda *x: value(f, *x), u) == pytest.approx(squares, rel=1e-11)
    assert elements.squared_error(lambda *x: value(p, *x), u) < 1e-24


def codes():
    """Every code of p8est_lnodes.h that can occur: the corner, and which faces and edges at it hang."""
    for child, faces, edges in itertools.product(range(8), range(8), range(8)):
        # A face that hangs takes along those of its edges that lie on the larger face's boundary.
        taken = {e for d in range(3) if faces >> d & 1 for e in range(3) if e != d}
        if (faces or edges) and all(edges >> e & 1 for e in taken):
            yield child | faces << 3 | edges << 6


def listed_positions(library, order, code):
    """Where the nodes that an element [0, 1]**3 lists lie: hanging ones on the larger face or edge."""
    own = points_of(library, order)
    child = [code >> d & 1 for d in range(3)]
    parent = [2 * own - c for c in child]
    places = []
    for k, j, i in itertools.product(range(order + 1), repeat=3):
        at = (i, j, k)
        lies = [at[d] == child[d] * order for d in range(3)]
        on_larger = set()
        for d in range(3):
            a, b = (d + 1) % 3, (d + 2) % 3
            if lies[d] and code >> (3 + d) & 1:
                on_larger |= {a, b}
            if lies[a] and lies[b] and code >> (6 + d) & 1:
                on_larger |= {d}
        places.append([(parent if d in on_larger else [own] * 3)[d][at[d]] for d in range(3)])
    return np.array(places)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_hanging_faces_and_edges_reproduce_polynomials(library, order):
    random = np.random.default_rng(order)
    p, q = (random_polynomial(random, order) for _ in range(2))
    exact = energy(p, q, (0, 0, 0), 1.0)
    scale = np.sqrt(energy(p, p, (0, 0, 0), 1.0) * energy(q, q, (0, 0, 0), 1.0))
    seen = 0
    for code in codes():
        elements = one_element(library, order, code=code)
        u, v = (
            np.ascontiguousarray(polynomial.polyval3d(*listed_positions(library, order, code).T, a))
            for a in (p, q)
        )
        assert v @ elements.product(u) == pytest.approx(exact, abs=1e-11 * scale), bin(code)
        assert elements.squared_error(lambda *x: value(p, *x), u) < 1e-20 * scale, bin(code)
        seen += 1
    assert seen == 8 * 17


@pytest.mark.parametrize("order", [1, 3])
def test_elements_with_hanging_nodes_agree_with_their_matrices(library, order):
    random = np.random.default_rng(order)
    nodes = lattice(order, (5, 2, 1))
    hanging = [0, 0b001010001, 0, *random.choice(list(codes()), 7)]
    size, kappa = random.uniform(0.1, 2, (2, len(nodes)))
    elements = Elements(library, order, nodes, size, kappa, hanging=hanging)
    a = elements.assembled()
    np.testing.assert_allclose(a, a.T, rtol=0, atol=ROUNDING * abs(a).max())
    u = random.standard_normal(elements.n_local)
    np.testing.assert_allclose(elements.product(u), a @ u, rtol=0, atol=ROUNDING * abs(a @ u).max())
    np.testing.assert_allclose(elements.diagonal(), a.diagonal(), rtol=1e-11)
    plain = elements.product(np.ones(elements.n_local))
    assert abs(plain).max() < 1e-12 * abs(a).max()


@pytest.mark.parametrize("order", [0, 9])
def test_orders_that_no_element_has_are_refused(library, capfd, order):
    assert not one_element(library, order).made
    assert capfd.readouterr().err == (
        f"elements of order {order} are not known: choose an order from 1 to 8\n"
    )


def solved(mpirun, poisson, n_ranks: int, *words: object) -> tuple[int, float]:
    """Iterations, and the error in L2, of the solver of testcase/poisson."""
    result = mpirun(n_ranks, poisson, *words, "--preconditioner", "jacobi")
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    found = re.search(r"first solve: (\d+) iterations.* error (\S+) in L2", result.stdout)
    return int(found[1]), float(found[2])


@pytest.mark.parametrize(("order", "coarse"), [(2, 6), (3, 4), (4, 4), (6, 2)])
def test_the_error_falls_with_the_power_of_order_plus_one(mpirun, poisson, order, coarse):
    errors = [
        solved(mpirun, poisson, 1, "--elements", n, n, n, "--order", order, "--rtol", 1e-11)[1]
        for n in (coarse, 2 * coarse)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order + 1, abs=0.15)


@pytest.mark.parametrize("n_ranks", [2, 5])
def test_any_number_of_ranks_finds_the_same_solution_of_any_order(mpirun, poisson, n_ranks):
    words = "--elements", 4, 3, 5, "--order", 3
    assert solved(mpirun, poisson, n_ranks, *words) == solved(mpirun, poisson, 1, *words)


@pytest.mark.parametrize("mesh", [("--elements", 3, 2, 2, "--order", 2), ("--octree", 1, 2, "--order", 1)])
def test_methods_multiply_alike_to_the_last_bit_by_sum_factorisation(mpirun, poisson, mesh):
    found = []
    for method in ("fixed", "test", "gather-scatter"):
        words = (*mesh, "--method", method, "--poll-every", 1, "--matrix", "matrix.npy")
        result = mpirun(3, poisson, *words)
        assert result.returncode == 0, result.stderr
        found.append(np.load(result.cwd / "matrix.npy"))
    assert all(np.array_equal(found[0], other) for other in found[1:])
    assert abs(found[0] - found[0].T).max() < 1e-14 * found[0].max()
    assert np.linalg.eigvalsh(found[0])[0] > 0


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["--order", 9], "--order is from 1 to 8, not 9"),
        (["--order", 0], "--order must be at least 1, not 0"),
        (["--order", 2, "--preconditioner", "multigrid"], "multigrid knows boxes of order 1 only"),
        (["--octree", 1, 2, "--preconditioner", "multigrid"], "multigrid knows boxes of order 1 only"),
        (["--octree", 3, 2], "--octree 3 2 is not possible: the finest level is from the coarsest one to 18"),
        (["--octree", 3, 19], "--octree 3 19 is not possible"),
        (["--octree", -1, 2], "--octree must be at least 0, not -1"),
        (["--octree", 1, 2, "--elements", 4, 4, 4], "--octree is a mesh of its own: leave out --elements"),
        (["--octree", 1, 2, "--ranks", 1, 1, 1], "--octree is a mesh of its own"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_a_mesh_that_cannot_be_is_reported_in_a_sentence(poisson, tmp_path, words, reported):
    argv = [str(word) for word in (poisson, *words)]
    result = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
    assert result.returncode == 2
    assert reported in result.stderr
    assert result.stderr.startswith("poisson: ") and result.stderr.endswith(".\n")
