"""Libraries that have operators for most of a chain: numpy, and frameworks that run models."""

import numpy as np

from .chain import Unsupported, broadcast_shift, lengths, run_shape

FIRST, LAST = -(2**63), 2**63 - 1


class Numpy:
    name = "numpy"

    def __init__(self, threads):
        del threads  # numpy uses one thread

    def prepare(self, operators, x):
        def run():
            y = x
            for name, arguments, named in operators:
                y = self.step(y, name, arguments, named)
            # A view, or a result in the order of a view, has not been moved yet.
            if np.may_share_memory(x, y) or not y.flags.c_contiguous:
                np.copyto(self.out, y)
                return self.out
            return y

        shape = run_shape(operators, x.shape)
        self.out = np.empty(shape, x.dtype)
        return run

    @staticmethod
    def step(y, name, arguments, named):
        if name == "transpose":
            return y.transpose(arguments or None)
        if name == "reshape":
            return y.reshape(arguments)
        if name == "flip":
            return np.flip(y, tuple(named["axes"]))
        if name == "roll":
            shift = broadcast_shift(named["shift"], named["axes"])
            return np.roll(y, shift, tuple(named["axes"]))
        if name == "reverse" and "batch_axis" in named:
            axis, batch_axis = named["axis"], named["batch_axis"]
            z = y.copy()
            for batch, length in enumerate(lengths(y.shape[batch_axis], y.shape[axis])):
                index = [slice(None)] * y.ndim
                index[batch_axis] = batch
                index[axis] = slice(0, length)
                along = axis - (batch_axis < axis)
                z[tuple(index)] = np.flip(y[tuple(index)], along)
            return z
        raise Unsupported


class Torch:
    name = "PyTorch"

    def __init__(self, threads):
        import torch

        self.torch = torch
        torch.set_num_threads(threads)

    def prepare(self, operators, x):
        torch = self.torch
        if x.dtype == np.uint16:
            x = x.view(np.int16)
        data = torch.from_numpy(x)
        out = torch.empty(run_shape(operators, x.shape), dtype=data.dtype)

        def run():
            y = data
            for name, arguments, named in operators:
                y = self.step(y, name, arguments, named)
            return y if y.is_contiguous() else out.copy_(y)

        return run

    def step(self, y, name, arguments, named):
        if name == "transpose":
            return y.permute(arguments or tuple(range(y.ndim))[::-1])
        if name == "reshape":
            return y.reshape(arguments)
        if name == "flip":
            return self.torch.flip(y, named["axes"])
        if name == "roll":
            shift = broadcast_shift(named["shift"], named["axes"])
            return self.torch.roll(y, shift, tuple(named["axes"]))
        raise Unsupported


class OpenVINO:
    name = "OpenVINO"

    def __init__(self, threads):
        import openvino

        self.openvino, self.ops = openvino, openvino.opset13
        self.core = openvino.Core()
        self.config = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}

    def prepare(self, operators, x):
        request = self.compiled(operators, x).create_infer_request()
        request.set_input_tensor(self.openvino.Tensor(x, shared_memory=True))
        out = np.empty(run_shape(operators, x.shape), x.dtype)
        request.set_output_tensor(self.openvino.Tensor(out, shared_memory=True))

        def run():
            request.infer()
            return out

        return run

    def compiled(self, operators, x):
        """Returns a model of the operators."""
        ops = self.ops
        data = ops.parameter(x.shape, dtype=x.dtype)
        y, shape = data, x.shape
        for name, arguments, named in operators:
            if name == "transpose":
                y = ops.transpose(y, arguments or list(range(len(shape)))[::-1])
            elif name == "reshape":
                y = ops.reshape(y, np.array(arguments), special_zero=False)
            elif name == "flip":
                axes, all_of_them = np.array(named["axes"]), np.ones(len(named["axes"]), np.int64)
                y = ops.slice(y, -all_of_them, all_of_them * FIRST, -all_of_them, axes)
            elif name == "roll":
                shift = list(broadcast_shift(named["shift"], named["axes"]))
                y = ops.roll(y, np.array(shift), np.array(named["axes"]))
            elif name == "take":
                y = ops.gather(y, np.array(arguments), named["axis"])
            elif name == "reverse" and "batch_axis" in named:
                axis, batch_axis = named["axis"], named["batch_axis"]
                table = lengths(shape[batch_axis], shape[axis]).astype(np.int32)
                y = ops.reverse_sequence(y, table, batch_axis, axis)
            else:
                raise Unsupported
            shape = run_shape([(name, arguments, named)], shape)
        model = self.openvino.Model([y], [data], "case")
        return self.core.compile_model(model, "CPU", self.config)


class OnnxRuntime:
    name = "ONNX Runtime"

    def __init__(self, threads):
        import onnx
        import onnxruntime

        self.onnx, self.runtime, self.threads = onnx, onnxruntime, threads

    def list(self, name, entries):
        return self.onnx.numpy_helper.from_array(np.array(entries, np.int64), name)

    def slice(self, source, result, bounds, constants):
        names = [f"{result}{which}" for which in ("starts", "ends", "axes", "steps")]
        constants.extend(map(self.list, names, bounds))
        return self.onnx.helper.make_node("Slice", [source, *names], [result])

    def prepare(self, operators, x):
        session = self.session(operators, x)
        binding = session.io_binding()
        binding.bind_cpu_input("x0", x)
        out = np.empty(run_shape(operators, x.shape), x.dtype)
        value = self.runtime.OrtValue.ortvalue_from_numpy(out)
        binding.bind_ortvalue_output(f"x{len(operators)}", value)

        def run():
            session.run_with_iobinding(binding)
            return value

        return run

    def session(self, operators, x):
        """Returns a session for a model of the operators, with input x0."""
        helper = self.onnx.helper
        nodes, constants, shape = [], [], x.shape
        for number, (name, arguments, named) in enumerate(operators):
            inputs, outputs = [f"x{number}"], [f"x{number + 1}"]
            if name == "transpose":
                order = arguments or list(range(len(shape)))[::-1]
                nodes.append(helper.make_node("Transpose", inputs, outputs, perm=order))
            elif name == "reshape":
                constants.append(self.list(f"sizes{number}", arguments))
                inputs.append(f"sizes{number}")
                nodes.append(helper.make_node("Reshape", inputs, outputs))
            elif name == "flip":
                axes = named["axes"]
                bounds = ([-1] * len(axes), [FIRST] * len(axes), axes, [-1] * len(axes))
                nodes.append(self.slice(inputs[0], outputs[0], bounds, constants))
            elif name == "roll":
                # As exporters write it: two slices and a concatenation for each axis.
                shift = broadcast_shift(named["shift"], named["axes"])
                source = inputs[0]
                for axis, by in zip(named["axes"], shift):
                    at, parts = (-by) % shape[axis], [f"{source}r{axis}a", f"{source}r{axis}b"]
                    for part, bounds in zip(parts, ([at, LAST], [0, at])):
                        bounds = ([bounds[0]], [bounds[1]], [axis], [1])
                        nodes.append(self.slice(source, part, bounds, constants))
                    last = axis == named["axes"][-1]
                    source = outputs[0] if last else f"{outputs[0]}r{axis}"
                    nodes.append(helper.make_node("Concat", parts, [source], axis=axis))
            elif name == "take":
                constants.append(self.list(f"numbers{number}", arguments))
                inputs.append(f"numbers{number}")
                nodes.append(helper.make_node("Gather", inputs, outputs, axis=named["axis"]))
            elif name == "reverse" and {named["axis"], named.get("batch_axis")} == {0, 1}:
                axis, batch_axis = named["axis"], named["batch_axis"]
                table = lengths(shape[batch_axis], shape[axis])
                constants.append(self.onnx.numpy_helper.from_array(table, f"lengths{number}"))
                inputs.append(f"lengths{number}")
                axes = {"time_axis": axis, "batch_axis": batch_axis}
                nodes.append(helper.make_node("ReverseSequence", inputs, outputs, **axes))
            else:
                raise Unsupported
            shape = run_shape([(name, arguments, named)], shape)
        kind = helper.np_dtype_to_tensor_dtype(x.dtype)
        source = helper.make_tensor_value_info("x0", kind, x.shape)
        result = helper.make_tensor_value_info(f"x{len(operators)}", kind, shape)
        graph = helper.make_graph(nodes, "case", [source], [result], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        return self.runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )


class Xla:
    """XLA through jax: the chain compiled as one function."""

    name = "XLA"

    def __init__(self, threads):
        del threads  # XLA uses all cores of the process
        import jax

        self.jax = jax
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)

    def prepare(self, operators, x):
        xla = self.jax.numpy

        def chain(y):
            for name, arguments, named in operators:
                if name == "transpose":
                    y = xla.transpose(y, arguments or None)
                elif name == "reshape":
                    y = xla.reshape(y, arguments)
                elif name == "flip":
                    y = xla.flip(y, named["axes"])
                elif name == "roll":
                    shift = broadcast_shift(named["shift"], named["axes"])
                    y = xla.roll(y, shift, tuple(named["axes"]))
                else:
                    raise Unsupported
            return y

        compiled, data = self.jax.jit(chain), self.jax.device_put(x)
        return lambda: compiled(data).block_until_ready()
