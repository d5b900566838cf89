"""Prints table.txt: results of einops on numpy arrays, and patterns that it refuses.

Run as `python3 table.py > table.txt`, with einops 0.8 and numpy installed. Each line has a pattern with its
sizes, the shape of a tensor of 0, 1, 2, ..., and either the shape and the values of the result or "refused".
The patterns are from einops' documentation, tutorials and tests, on small shapes.
"""

import math

import einops
import numpy

GIVEN = """
-> ;
-> 1 1 ;
1 1 -> ; 1 1
1 -> 1 ; 1
... -> ... ; 2 3
... -> (...) ; 2 3
... -> (...) ;
... -> ... 1 ; 2 3
a b -> b a ; 2 3
a b -> (b a) ; 2 3
(a b) -> b a, a=2 ; 6
(a b) -> b a, b=2 ; 6
(a b) -> a b, a=2, b=3 ; 6
(a b) (c d) -> a b c d, a=2, b=3, c=2, d=2 ; 6 4
(a b) c -> a b c, a=2 ; 0 3
(a b) -> a b, a=0, b=5 ; 0
(a b c) -> c (a b), a=2, b=2 ; 8
a b -> a b, a=2 ; 2 3
a b -> b a () ; 2 3
a b -> (a 1 b) ; 2 3
a b -> (1) a b ; 2 3
a (1 b) -> a b ; 2 3
a () b -> a b ; 2 1 3
01 b -> b 01 ; 1 3
a(b)->(a)b ; 2 3
a b -> (b)(a) ; 2 3
A a -> a A ; 2 3
… a -> a … ; 2 3
h w c -> w h c ; 2 3 2
b h w c -> b c h w ; 2 2 3 2
b h w c -> (b h) w c ; 2 2 3 2
b h w c -> h (b w) c ; 2 2 3 2
b h w c -> b (c h w) ; 2 2 3 2
b h w c -> h w b c ; 2 2 3 2
b h w c -> b (h w c) ; 2 2 3 2
(b1 b2) h w c -> b1 b2 h w c, b1=2 ; 4 2 1 3
(b1 b2) h w c -> (b1 h) (b2 w) c, b1=2 ; 4 2 2 3
(b1 b2) h w c -> h (b2 b1 w) c, b1=2 ; 4 2 2 3
b h (w w2) c -> (h w2) (b w) c, w2=2 ; 2 3 4 2
b (h1 h) (w1 w) c -> (b h1 w1) h w c, h1=2, w1=2 ; 2 4 4 2
b (h h1) (w w1) c -> b h w (c h1 w1), h1=2, w1=2 ; 2 4 4 2
b (h p1) (w p2) c -> b (h w) (p1 p2 c), p1=2, p2=3 ; 1 4 6 2
b h w c -> w (b h) c ; 3 2 2 1
b c h w -> b h w c ; 2 3 2 2
b c h w -> b (c h w) ; 2 3 2 2
b (c h1 w1) h w -> b c (h h1) (w w1), h1=2, w1=2 ; 1 8 2 3
b c (h h1) (w w1) -> b (h1 w1 c) h w, h1=2, w1=2 ; 1 2 4 6
b1 sound b2 letter -> b1 b2 sound letter ; 2 3 2 2
b c h w -> (b h w) c ; 2 3 2 2
(b h w) c -> b c h w, b=2, h=2 ; 8 3
b (c g) h w -> g b c h w, g=2 ; 2 4 1 3
b c () () -> c b ; 2 3 1 1
b (c1 c2) h w-> b (c2 c1) h w, c1=2, c2=3 ; 1 6 2 2
b c t1 t2 -> b c (t1 t2) ; 2 2 2 3
b c (t stride) -> (stride b) c t, stride=2 ; 2 2 6
(stride b) c t -> b c (t stride), stride=2 ; 4 2 3
b c (h hs) (w ws) -> (hs ws b) c h w, hs=2, ws=3 ; 1 2 4 3
(hs ws b) c h w -> b c (h hs) (w ws), hs=2, ws=3 ; 6 2 2 1
b c (t dt) -> b (dt c) t, dt=2 ; 2 2 6
b (dt c) t -> b c (t dt), dt=2 ; 2 4 3
(i rest alpha) -> rest (alpha i), alpha=2, i=3 ; 12
i j alpha beta -> (alpha i) (j beta) ; 2 2 3 2
rest (beta j) -> (beta rest j), beta=2, j=3 ; 2 6
i ... (j alpha) -> ... j (alpha i), alpha=2, i=2 ; 2 3 2 4
b (anchor prediction) h w -> prediction b anchor h w, anchor=3 ; 2 6 1 2
anchor dim -> dim () anchor () () ; 3 2
h -> () () h () ; 3
prediction b anchor h w -> b anchor h w prediction ; 3 2 2 1 2
a b d c -> (a b ) 1 c d ; 2 2 3 2
(a b ) 1 c -> a b c, b=2 ; 4 1 3
... i j -> ... j i ; 2 3 2
...->... ; 2 3
a b c d e-> a b c d e ; 2 1 3 2 2
a b c d e ...-> ... a b c d e ; 2 1 3 2 2
a b c d e ...-> a ... b c d e ; 2 1 3 2 2
... a b c d e -> ... a b c d e ; 2 1 3 2 2
a ... e-> a ... e ; 2 1 3 2 2
a ... c d e -> a (...) c d e ; 2 1 3 2 2
a ... c d e -> a (...) c d e ; 2 3 2 2
a b c d e -> (a b) c d e ; 2 1 3 2 2
a b ... -> (a b) ... ; 2 1 3 2 2
a b c d e -> a b (c d) e ; 2 1 3 2 2
... c d e -> ... (c d) e ; 2 1 3 2 2
a b c d e -> (a b c d e) ; 2 1 3 2 2
a b c d e -> b (c d e) a ; 2 1 3 2 2
a b ... -> b (...) a ; 2 1 3 2 2
a b c d e -> b (a c d) e ; 2 1 3 2 2
a b ... e -> b (a ...) e ; 2 1 3 2 2
a b c d ... ->  a b c ... d ; 1 1 1 1 1
b a c d e f -> a b d e f c ; 1 2 3 1 2 2
a b c d e f -> (f e) d (c b a) ; 1 2 3 1 2 2
a b c d e f -> a (b) (c d e) f ; 1 2 3 1 2 2
a aa aa1 a1a1 aaaa a11 -> a aa aa1 a1a1 aaaa a11 ; 1 2 3 1 2 2
a b c d e f -> (f d) c (e b) a ; 1 2 3 1 2 2
(f d) c (e b) a -> a b c d e f, b=2, d=1 ; 2 3 4 1
a b c -> b c a ; 2 3 4
b c h w -> b (c h) w, c=3 ; 2 3 2 2
b c (h1 h2) w -> b c w (h1 h2), h2=2 ; 1 2 4 3
a ... -> ... a ; 3
b c h w -> b (c h w), c=3 ; 2 3 2 2
b c (h1 h2) (w1 w2) -> b (c h2 w2) h1 w1, h2=2, w2=2 ; 1 2 4 6
b ... c -> c b ..., b=2 ; 2 3 2
b c h w -> b (c h w), c=20 ;
b c h w -> b (c h w), c=20 ; 10
b c h w -> b (c h w), c=20 ; 10 10 10
b c h w -> b (c h w), c=20 ; 10 21 30 40
b c (h1 h2) (w1 w2) -> b (c h2 w2) h1 w1, h2=2, w2=2 ;
b c (h1 h2) (w1 w2) -> b (c h2 w2) h1 w1, h2=2, w2=2 ; 1 1 1 1
b c (h1 h2) (w1 w2) -> b (c h2 w2) h1 w1, h2=2, w2=2 ; 1 10 3
b ... c -> c b ..., b=10 ;
b ... c -> c b ..., b=10 ; 10
b ... c -> c b ..., b=10 ; 5 10
(a b) c -> a b c, a=0 ; 0 3
(a b) c -> a b c, a=0 ; 4 3
(a b) c -> a b c, a=3 ; 4 3
(a b) c -> a b c, a=-2 ; 4 3
(a b) c -> a b c ; 4 3
(a b c) -> a b c, a=2 ; 8
(a b) -> a b, a=2, b=4 ; 6
(a b) -> a b, a=0, b=5 ; 10
a b -> b a, a=3 ; 2 3
a b -> a b, c=2 ; 2 3
a b -> b a ; 2
a b -> b a ; 2 3 4
a b ... -> b a ... ; 2
1 b -> b 1 ; 2 3
1 a -> a ; 2 3
a () -> a ; 2 3
a b -> a b ... ; 2 3
a b -> b (a ...) ; 2 3
... a b -> a b ; 2 3
(...) -> ... ; 2 3
(...) -> (...) ; 1
a b c d (...) ->  a b c ... d ; 1 1 1 1 1
(a ...) -> a ..., a=2 ; 6
... ... -> ... ; 2 3
a b -> a b c ; 2 3
a b -> a b c, c=3 ; 2 3
a b -> b ; 2 3
a b -> ; 1 1
a b -> 1 1 ; 1 1
a b -> b a a ; 2 3
a a -> a ; 2 2
2 b -> b 2 ; 2 3
a b -> a b 2 ; 2 3
0 b -> b 0 ; 0 3
_a b -> b _a ; 2 3
a_ b -> b a_ ; 2 3
_ b -> b _ ; 2 3
a-b c -> c a-b ; 2 3
a.b c -> c a.b ; 2 3
a..b->a b ; 2 3
a... -> ...a ; 2 3
....a -> a.... ; 2 3
a,b -> b a ; 2 3
((a) b) -> a b ; 6
(a b)) -> a b ; 6
a b -> (a b ; 2 3
a b -> a b) ; 2 3
)a b( -> a b ; 2 3
a b - > b a ; 2 3
a b ; 2 3
a b -> b a -> a b ; 2 3
1a b -> b 1a ; 2 3
"""


def line(given):
    written, shape = (part.strip() for part in given.split(";"))
    pattern, *sizes = written.split(",") if "->" in written.split(",")[0] else [written]
    sizes = dict((size.split("=")[0].strip(), int(size.split("=")[1])) for size in sizes)
    shape = [int(size) for size in shape.split()]
    data = numpy.arange(math.prod(shape)).reshape(shape)
    try:
        made = einops.rearrange(data, pattern, **sizes)
    except (einops.EinopsError, ValueError, ZeroDivisionError):
        return f"{written} ; {' '.join(map(str, shape))} ; refused"
    lists = (shape, made.shape, made.ravel())
    return " ; ".join([written, *(" ".join(map(str, numbers)) for numbers in lists)])


print(f"# pattern ; shape ; what einops {einops.__version__} makes of it: shape ; values")
for given in GIVEN.strip().splitlines():
    print(line(given))
