"""Libraries that the bench's cases are run with, each a class of the same few words.

It has a `name`, and is made with a number of threads, or raises ImportError if the library is not
there. `prepare` takes the operators of a chain and an array, and gives a function that runs the
chain on it and returns the result, or raises `Unsupported`.
"""

from .frameworks import Numpy, OnnxRuntime, OpenVINO, Torch, Xla
from .numeric import Fftw, Mkl, OneDnn
from .pictures import Ipp, Libyuv, OpenCV

# numpy first: the others are compared with it.
LIBRARIES = (Numpy, Torch, OpenVINO, OnnxRuntime, Xla, OneDnn, Mkl, Fftw, OpenCV, Ipp, Libyuv)
