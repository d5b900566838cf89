"""Libraries that run the cases of trundle-bench. Each is a class with the same interface.

A class has a `name`. Its constructor takes a number of threads, and raises ImportError if the library is missing.
`prepare` takes the operators of a chain and an array, and returns a function that runs the chain and returns the
result, or it raises `Unsupported`.
"""

from .frameworks import Numpy, OnnxRuntime, OpenVINO, Torch, Xla
from .numeric import Fftw, Mkl, OneDnn
from .pictures import Ipp, Libyuv, OpenCV

# The results of the others are compared with numpy's.
LIBRARIES = (Numpy, Torch, OpenVINO, OnnxRuntime, Xla, OneDnn, Mkl, Fftw, OpenCV, Ipp, Libyuv)
