/* trundle.h: rolls, transposes and reverses tensors exactly, at the speed of memory.
 *
 * Made by cbindgen from the sources of trundle-capi; changes belong there.
 *
 * What holds of every function:
 *
 * - It returns TRUNDLE_OK, or a TRUNDLE_ERROR_* and leaves a message for trundle_last_error().
 *   Everything is checked first: where a call fails, not one byte has been written.
 * - Every pointer must be aligned as C wants its type, the data of a tensor as its element type;
 *   elements of TRUNDLE_DTYPE_BYTES may lie anywhere. A pointer may be NULL where there is
 *   nothing to read: a list without entries, a tensor without elements.
 * - A tensor's memory is all from the first byte of its first element in memory to the last byte
 *   of its last one, what lies between elements too. It must belong to the caller. While the call
 *   runs nobody else may write to it, nor read what is written. Bytes between the elements of an
 *   output stay as they are. Where elements of less than a byte share one, so do the bits that
 *   are of none of the output's, also beside its first and its last: it may be a part of a larger
 *   tensor. Calls that write to one byte, each other bits, must come one after another.
 * - The memory of an output must be apart from all that the call reads, and no two of its
 *   elements may share a byte, or a bit where they are less than a byte.
 * - It may be called from any thread, and by several at once. Large tensors are moved on several
 *   threads: as many as the environment variable TRUNDLE_NUM_THREADS says, else as there are
 *   cores, and in the calls of a thread as trundle_set_num_threads() says.
 * - A program runs with every library of the minor version that it was linked with: libtrundle.so.0.1 is
 *   any 0.1.x. Within it no function is removed, no struct grows, and no number of a constant changes;
 *   functions and constants may be added. Compare TRUNDLE_VERSION with trundle_version().
 */

#ifndef TRUNDLE_H
#define TRUNDLE_H

#include <stddef.h>
#include <stdint.h>

/**
 * The version of this header, TRUNDLE_VERSION_MAJOR.TRUNDLE_VERSION_MINOR.TRUNDLE_VERSION_PATCH;
 * trundle_version() says that of the library that is running.
 */
#define TRUNDLE_VERSION "0.1.0"
#define TRUNDLE_VERSION_MAJOR 0
#define TRUNDLE_VERSION_MINOR 1
#define TRUNDLE_VERSION_PATCH 0

/**
 * The rank of an input that may have any rank.
 */
#define TRUNDLE_RANK_ANY 4294967295u

/**
 * A model made of operators that only move elements. It never changes: several threads may ask it, and
 * plan for it, at once.
 */
typedef struct trundle_model trundle_model;

/**
 * A call, or a model, that is decided down to its loops, for tensors that lie as was described: see
 * trundle_plan_run(), trundle_plan_run_inputs(), trundle_plan_run_outputs() and trundle_plan_run_all().
 */
typedef struct trundle_plan trundle_plan;

/**
 * TRUNDLE_OK, or one of TRUNDLE_ERROR_*. Other numbers may be added.
 */
typedef int32_t trundle_status;

/**
 * An element type: one of TRUNDLE_DTYPE_*, or TRUNDLE_DTYPE_BYTES + n. The numbers stay the same
 * in later versions. Those from 1 to 13 are those of DirectML's DML_TENSOR_DATA_TYPE; 0 is none.
 *
 * Elements of less than a byte are packed as OpenVINO 2026.4 does, unless one of
 * TRUNDLE_BIT_ORDER_* is added to the number of their type.
 */
typedef int32_t trundle_dtype;

/**
 * What a tensor is: its element type, its sizes, and where its elements lie.
 *
 * The data that goes with it points at the element at index 0 of every axis; negative strides
 * reach before it.
 */
typedef struct trundle_tensor_desc {
    /**
     * One of TRUNDLE_DTYPE_*.
     */
    trundle_dtype dtype;
    /**
     * The number of axes; 0 for a single element.
     */
    uint32_t rank;
    /**
     * The size of each axis, the outermost first: `rank` entries. A size may be 0.
     */
    const uint64_t *sizes;
    /**
     * The distance between neighbours along each axis, in elements: `rank` entries, which may be
     * negative, and 0 to read the same elements again. NULL: packed, row-major.
     */
    const int64_t *strides_elems;
} trundle_tensor_desc;

/**
 * One of several tensors that a call reads.
 */
typedef struct trundle_input {
    /**
     * What it is.
     */
    const struct trundle_tensor_desc *desc;
    /**
     * Its element at index 0 of every axis.
     */
    const void *data;
} trundle_input;

/**
 * Which elements trundle_pad() puts around a tensor: one of TRUNDLE_PAD_*, shown here for abcd by
 * three on each side.
 */
typedef int32_t trundle_pad_mode;

/**
 * One of several tensors that a call writes.
 */
typedef struct trundle_output {
    /**
     * What it is.
     */
    const struct trundle_tensor_desc *desc;
    /**
     * Where its element at index 0 of every axis is written.
     */
    void *data;
} trundle_output;

/**
 * Where links at the files beside a model may lead: one of TRUNDLE_LINKS_*.
 */
typedef int32_t trundle_links;

/**
 * A tensor in a buffer, from its first byte on: DirectML's DML_BUFFER_TENSOR_DESC.
 */
typedef struct TRUNDLE_BUFFER_TENSOR_DESC {
    /**
     * One of TRUNDLE_DTYPE_*, to which one of TRUNDLE_BIT_ORDER_* may be added; a value of
     * DML_TENSOR_DATA_TYPE is the same number.
     */
    trundle_dtype DataType;
    /**
     * The number of axes.
     */
    uint32_t DimensionCount;
    /**
     * The size of each axis, the outermost first: `DimensionCount` entries.
     */
    const uint32_t *Sizes;
    /**
     * The distance between neighbours along each axis, in elements: `DimensionCount` entries; 0
     * gives the same elements all along it. NULL: packed, row-major.
     */
    const uint32_t *Strides;
    /**
     * The size of the buffer in bytes.
     */
    uint64_t TotalTensorSizeInBytes;
} TRUNDLE_BUFFER_TENSOR_DESC;

/**
 * DirectML's DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC.
 */
typedef struct TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC {
    /**
     * The elements to move.
     */
    const struct TRUNDLE_BUFFER_TENSOR_DESC *InputTensor;
    /**
     * The lengths: u32 or u64, with the sizes of the input, but 1 on `Axis`.
     */
    const struct TRUNDLE_BUFFER_TENSOR_DESC *SequenceLengthsTensor;
    /**
     * The result: of the sizes and the type of the input, also in the order of bits.
     */
    const struct TRUNDLE_BUFFER_TENSOR_DESC *OutputTensor;
    /**
     * The axis to reverse along, below the rank of the input.
     */
    uint32_t Axis;
} TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC;

/**
 * One of TRUNDLE_FEATURE_LEVEL_*, or any other value of DirectML's DML_FEATURE_LEVEL: each has what
 * the nearest one below it has.
 */
typedef uint32_t trundle_feature_level;

/**
 * The call did what it was asked to.
 */
#define TRUNDLE_OK 0

/**
 * A pointer is NULL where something must be read or written.
 */
#define TRUNDLE_ERROR_NULL_POINTER 1

/**
 * A pointer is not aligned as C wants its type.
 */
#define TRUNDLE_ERROR_MISALIGNED 2

/**
 * A rank is higher, or a list longer, than any that is meant.
 */
#define TRUNDLE_ERROR_RANK 3

/**
 * Sizes multiply, or strides reach, beyond what can be addressed.
 */
#define TRUNDLE_ERROR_TOO_LARGE 4

/**
 * No element type has this number or name.
 */
#define TRUNDLE_ERROR_UNKNOWN_DTYPE 5

/**
 * A tensor has not the element type that is needed.
 */
#define TRUNDLE_ERROR_DTYPE 6

/**
 * Shapes, or the lengths of lists, do not fit each other.
 */
#define TRUNDLE_ERROR_SHAPE 7

/**
 * An axis is out of range, or named twice.
 */
#define TRUNDLE_ERROR_AXIS 8

/**
 * A length of a sequence is out of range, in an operator that does not clamp it.
 */
#define TRUNDLE_ERROR_LENGTH 9

/**
 * The memory of an output overlaps something that is read, or another output.
 */
#define TRUNDLE_ERROR_OVERLAP 10

/**
 * Elements of the output overlap each other.
 */
#define TRUNDLE_ERROR_SELF_OVERLAP 11

/**
 * A buffer is smaller than its tensor.
 */
#define TRUNDLE_ERROR_BUFFER_SIZE 12

/**
 * A DirectML feature level does not have what is asked for.
 */
#define TRUNDLE_ERROR_FEATURE_LEVEL 13

/**
 * The library has a fault. What it was writing may be incomplete.
 */
#define TRUNDLE_ERROR_INTERNAL 14

/**
 * A text is no chain.
 */
#define TRUNDLE_ERROR_CHAIN 15

/**
 * A number of a chain's stage is out of range, such as a step of 0.
 */
#define TRUNDLE_ERROR_NUMBER 16

/**
 * An index of a gather or a scatter is out of range.
 */
#define TRUNDLE_ERROR_INDEX 17

/**
 * A file cannot be read.
 */
#define TRUNDLE_ERROR_FILE 18

/**
 * A file is no model, or its operators do not fit each other or the inputs.
 */
#define TRUNDLE_ERROR_MODEL 19

/**
 * A model has operators that compute, or that are not supported.
 */
#define TRUNDLE_ERROR_UNSUPPORTED 20

/**
 * IEEE 754 binary32.
 */
#define TRUNDLE_DTYPE_F32 1

/**
 * IEEE 754 binary16.
 */
#define TRUNDLE_DTYPE_F16 2

/**
 * Unsigned 32-bit integer.
 */
#define TRUNDLE_DTYPE_U32 3

/**
 * Unsigned 16-bit integer.
 */
#define TRUNDLE_DTYPE_U16 4

/**
 * Unsigned 8-bit integer.
 */
#define TRUNDLE_DTYPE_U8 5

/**
 * Signed 32-bit integer.
 */
#define TRUNDLE_DTYPE_I32 6

/**
 * Signed 16-bit integer.
 */
#define TRUNDLE_DTYPE_I16 7

/**
 * Signed 8-bit integer.
 */
#define TRUNDLE_DTYPE_I8 8

/**
 * IEEE 754 binary64.
 */
#define TRUNDLE_DTYPE_F64 9

/**
 * Unsigned 64-bit integer.
 */
#define TRUNDLE_DTYPE_U64 10

/**
 * Signed 64-bit integer.
 */
#define TRUNDLE_DTYPE_I64 11

/**
 * Unsigned 4-bit integer; of two in a byte the low bits are the first. Elements of this and the
 * other types of less than a byte fill the tensor without padding at the ends of rows; in memory
 * the data points at a byte, whose first element is that at index 0 of every axis.
 */
#define TRUNDLE_DTYPE_U4 12

/**
 * Signed 4-bit integer; of two in a byte the low bits are the first.
 */
#define TRUNDLE_DTYPE_I4 13

/**
 * One byte, 0 or 1.
 */
#define TRUNDLE_DTYPE_BOOLEAN 16

/**
 * The upper half of an IEEE 754 binary32.
 */
#define TRUNDLE_DTYPE_BF16 17

/**
 * 8-bit float, 4 exponent and 3 mantissa bits.
 */
#define TRUNDLE_DTYPE_F8E4M3 18

/**
 * 8-bit float, 5 exponent and 2 mantissa bits.
 */
#define TRUNDLE_DTYPE_F8E5M2 19

/**
 * 8-bit scale, 8 exponent bits.
 */
#define TRUNDLE_DTYPE_F8E8M0 20

/**
 * Two binary32: real, imaginary.
 */
#define TRUNDLE_DTYPE_COMPLEX64 21

/**
 * Two binary64: real, imaginary.
 */
#define TRUNDLE_DTYPE_COMPLEX128 22

/**
 * Unsigned 1-bit integer; of eight in a byte the highest bit is the first.
 */
#define TRUNDLE_DTYPE_U1 24

/**
 * Unsigned 2-bit integer; of four in a byte the lowest bits are the first.
 */
#define TRUNDLE_DTYPE_U2 25

/**
 * Signed 2-bit integer; of four in a byte the lowest bits are the first.
 */
#define TRUNDLE_DTYPE_I2 26

/**
 * Unsigned 3-bit integer; eight in three bytes, the low 2 bits of all before the upper bits, as
 * OpenVINO 2026.4 has it. The data points at the first of three bytes.
 */
#define TRUNDLE_DTYPE_U3 27

/**
 * Unsigned 6-bit integer; four in three bytes, the low 4 bits of all before the upper bits, as
 * OpenVINO 2026.4 has it. The data points at the first of three bytes.
 */
#define TRUNDLE_DTYPE_U6 28

/**
 * 4-bit index into the quantiles of a normal distribution; packed as TRUNDLE_DTYPE_U4.
 */
#define TRUNDLE_DTYPE_NF4 29

/**
 * 4-bit float, 2 exponent bits and 1 mantissa bit; packed as TRUNDLE_DTYPE_U4.
 */
#define TRUNDLE_DTYPE_F4E2M1 30

/**
 * Added to a type of less than a byte: one stream of bits, from the lowest of each byte up.
 */
#define TRUNDLE_BIT_ORDER_LOW_FIRST 4096

/**
 * Added to a type of 1, 2 or 4 bits: from the highest bits of each byte down.
 */
#define TRUNDLE_BIT_ORDER_HIGH_FIRST 8192

/**
 * Added to a type of 3 or 6 bits: as u3 and u6 are without it.
 */
#define TRUNDLE_BIT_ORDER_SPLIT 12288

/**
 * Opaque elements, such as structs: TRUNDLE_DTYPE_BYTES + n is the type of elements of n bytes,
 * which may lie at any address.
 */
#define TRUNDLE_DTYPE_BYTES 16777216

/**
 * A value: vvv abcd vvv.
 */
#define TRUNDLE_PAD_CONSTANT 0

/**
 * The outermost: aaa abcd ddd.
 */
#define TRUNDLE_PAD_EDGE 1

/**
 * Those within, mirrored without the outermost: dcb abcd cba.
 */
#define TRUNDLE_PAD_REFLECT 2

/**
 * The same with the outermost: cba abcd dcb.
 */
#define TRUNDLE_PAD_SYMMETRIC 3

/**
 * Those of the other end: bcd abcd abc.
 */
#define TRUNDLE_PAD_WRAP 4

/**
 * To places within the model's folder: a model is not trusted, nor is the archive that it came in.
 */
#define TRUNDLE_LINKS_WITHIN 0

/**
 * Anywhere, as in the cache of Hugging Face, whose files are links to a store of files.
 */
#define TRUNDLE_LINKS_ANYWHERE 1

/**
 * No feature level: whatever the operator itself allows, for every type and rank.
 */
#define TRUNDLE_FEATURE_LEVEL_NONE 0

/**
 * DML_FEATURE_LEVEL_2_1: rank 4; f32 f16 i32 i16 i8 u32 u16 u8; lengths of u32.
 */
#define TRUNDLE_FEATURE_LEVEL_2_1 8448

/**
 * DML_FEATURE_LEVEL_3_0: rank 5 too.
 */
#define TRUNDLE_FEATURE_LEVEL_3_0 12288

/**
 * DML_FEATURE_LEVEL_4_0: ranks 1 to 8.
 */
#define TRUNDLE_FEATURE_LEVEL_4_0 16384

/**
 * DML_FEATURE_LEVEL_5_0: f64 i64 u64 too, and lengths of u64.
 */
#define TRUNDLE_FEATURE_LEVEL_5_0 20480

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The element type of a name: "f32", "boolean", "bf16", "complex64", "bytes12". It is written to
 * `out`.
 */
trundle_status trundle_dtype_from_name(const char *name,
                                       trundle_dtype *out);

/**
 * The name of an element type, without the order of its bits; "bytes" for all of
 * TRUNDLE_DTYPE_BYTES + n, and NULL for a number that is no type. It is valid for ever.
 */
const char *trundle_dtype_name(trundle_dtype dtype);

/**
 * The version of the library that is running, such as "0.1.0"; that of the header is
 * TRUNDLE_VERSION.
 */
const char *trundle_version(void);

/**
 * The message of this thread's latest call that failed; "" if none did. It names the argument and
 * gives the numbers. It is valid until another call fails in this thread, or the thread ends.
 */
const char *trundle_last_error(void);

/**
 * Says how many threads may take part in each call of this thread from now on, itself among them: 1
 * for this thread alone; 0, as in the beginning, for as many as the environment variable
 * TRUNDLE_NUM_THREADS says, else as there are cores. Other threads say it for themselves.
 *
 * A plan is for at most as many threads as the one that makes it says, and is run by no more than
 * the one that runs it says: made for 4, it is run by 2 where that says 2, and by 4 where that says
 * 8. Small tensors are moved by one thread, whatever is said.
 */
void trundle_set_num_threads(size_t threads);

/**
 * How many threads may take part in a call of this thread now: what trundle_set_num_threads() says,
 * else TRUNDLE_NUM_THREADS, else the number of cores that the process may use.
 */
size_t trundle_num_threads(void);

/**
 * Shifts elements along axes, in at one end what goes out at the other:
 * out[(i + shift) mod size] = data[i]. OpenVINO's Roll-7.
 *
 * `shift` has one entry for each entry of `axes`, or one for all of them (`shift_len` 1). Axes may
 * be negative, counting from the end, and may repeat: their shifts add. `out` has the sizes and the
 * type of `data`.
 */
trundle_status trundle_roll(const struct trundle_tensor_desc *data_desc,
                            const void *data,
                            const int64_t *shift,
                            size_t shift_len,
                            const int64_t *axes,
                            size_t axes_len,
                            const struct trundle_tensor_desc *out_desc,
                            void *out);

/**
 * Plans trundle_roll(). The plan is written to `plan`, and is the caller's to free.
 */
trundle_status trundle_roll_plan(const struct trundle_tensor_desc *data_desc,
                                 const int64_t *shift,
                                 size_t shift_len,
                                 const int64_t *axes,
                                 size_t axes_len,
                                 const struct trundle_tensor_desc *out_desc,
                                 struct trundle_plan **plan);

/**
 * Puts the axes in another order: out.sizes[i] = data.sizes[order[i]]. OpenVINO's Transpose-1.
 *
 * `order` holds each axis once, and none of them negative; an empty one (`order_len` 0) inverts
 * the axes. `out` has the transposed sizes and the type of `data`.
 */
trundle_status trundle_transpose(const struct trundle_tensor_desc *data_desc,
                                 const void *data,
                                 const int64_t *order,
                                 size_t order_len,
                                 const struct trundle_tensor_desc *out_desc,
                                 void *out);

/**
 * Plans trundle_transpose(). The plan is written to `plan`, and is the caller's to free.
 */
trundle_status trundle_transpose_plan(const struct trundle_tensor_desc *data_desc,
                                      const int64_t *order,
                                      size_t order_len,
                                      const struct trundle_tensor_desc *out_desc,
                                      struct trundle_plan **plan);

/**
 * Puts the elements in the opposite order along `axes`. Negative axes count from the end. `out` has
 * the sizes and the type of `data`.
 */
trundle_status trundle_flip(const struct trundle_tensor_desc *data_desc,
                            const void *data,
                            const int64_t *axes,
                            size_t axes_len,
                            const struct trundle_tensor_desc *out_desc,
                            void *out);

/**
 * Plans trundle_flip(). The plan is written to `plan`, and is the caller's to free.
 */
trundle_status trundle_flip_plan(const struct trundle_tensor_desc *data_desc,
                                 const int64_t *axes,
                                 size_t axes_len,
                                 const struct trundle_tensor_desc *out_desc,
                                 struct trundle_plan **plan);

/**
 * Reverses, for each position outside `axis`, the first `length` elements along it, and copies the
 * rest. DirectML's DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC; for its form see
 * trundle_directml_reverse_subsequences().
 *
 * `lengths` is a tensor of u32 or u64 with the sizes of `data`, but 1 on `axis`. A length over the
 * size of the axis counts as the size. `out` has the sizes and the type of `data`.
 */
trundle_status trundle_reverse_subsequences(const struct trundle_tensor_desc *data_desc,
                                            const void *data,
                                            const struct trundle_tensor_desc *lengths_desc,
                                            const void *lengths,
                                            uint32_t axis,
                                            const struct trundle_tensor_desc *out_desc,
                                            void *out);

/**
 * Plans trundle_reverse_subsequences() for these lengths, which are read now and not again. The
 * plan is written to `plan`, and is the caller's to free.
 */
trundle_status trundle_reverse_subsequences_plan(const struct trundle_tensor_desc *data_desc,
                                                 const struct trundle_tensor_desc *lengths_desc,
                                                 const void *lengths,
                                                 uint32_t axis,
                                                 const struct trundle_tensor_desc *out_desc,
                                                 struct trundle_plan **plan);

/**
 * Reverses the first `lengths[b]` elements along `axis` at each index b of `batch_axis`, and copies
 * the rest. ReverseSequence of ONNX, TensorFlow and OpenVINO.
 *
 * There is one length for each index of `batch_axis`; one below 0 or over the size of `axis` is
 * refused. Negative axes count from the end. `out` has the sizes and the type of `data`.
 */
trundle_status trundle_reverse_sequence(const struct trundle_tensor_desc *data_desc,
                                        const void *data,
                                        const int64_t *lengths,
                                        size_t lengths_len,
                                        int64_t axis,
                                        int64_t batch_axis,
                                        const struct trundle_tensor_desc *out_desc,
                                        void *out);

/**
 * Plans trundle_reverse_sequence() for these lengths, which are read now and not again. The plan is
 * written to `plan`, and is the caller's to free.
 */
trundle_status trundle_reverse_sequence_plan(const struct trundle_tensor_desc *data_desc,
                                             const int64_t *lengths,
                                             size_t lengths_len,
                                             int64_t axis,
                                             int64_t batch_axis,
                                             const struct trundle_tensor_desc *out_desc,
                                             struct trundle_plan **plan);

/**
 * trundle_roll() within the memory of `data`: elements take each other's places, with a sixteenth of the tensor, or 1 MiB if
 * that is more, of memory beside it at most. What cannot be done so is done through a copy: of types whose elements share
 * bytes, and of some chains. If the call is stopped in the middle, as the process is, the tensor is torn.
 */
trundle_status trundle_roll_in_place(const struct trundle_tensor_desc *data_desc,
                                     void *data,
                                     const int64_t *shift,
                                     size_t shift_len,
                                     const int64_t *axes,
                                     size_t axes_len);

/**
 * trundle_flip() within the memory of `data`, as trundle_roll_in_place() has it.
 */
trundle_status trundle_flip_in_place(const struct trundle_tensor_desc *data_desc,
                                     void *data,
                                     const int64_t *axes,
                                     size_t axes_len);

/**
 * trundle_transpose() within the memory of `data`, as trundle_roll_in_place() has it. If the sizes of the tensor change, it has to be
 * packed and row-major, and so is the result in the same memory. That takes several times as long as to other memory.
 */
trundle_status trundle_transpose_in_place(const struct trundle_tensor_desc *data_desc,
                                          void *data,
                                          const int64_t *order,
                                          size_t order_len);

/**
 * trundle_reverse_subsequences() within the memory of `data`, as trundle_roll_in_place() has it.
 */
trundle_status trundle_reverse_subsequences_in_place(const struct trundle_tensor_desc *data_desc,
                                                     void *data,
                                                     const struct trundle_tensor_desc *lengths_desc,
                                                     const void *lengths,
                                                     uint32_t axis);

/**
 * trundle_reverse_sequence() within the memory of `data`, as trundle_roll_in_place() has it.
 */
trundle_status trundle_reverse_sequence_in_place(const struct trundle_tensor_desc *data_desc,
                                                 void *data,
                                                 const int64_t *lengths,
                                                 size_t lengths_len,
                                                 int64_t axis,
                                                 int64_t batch_axis);

/**
 * A chain of operators of one tensor within the memory of `data`, as trundle_roll_in_place() has it; `chain` is as in
 * trundle_chain_plan(). If the sizes of the tensor change, it has to be packed and row-major, and so is the result
 * in the same memory. A result of more or fewer elements is refused.
 */
trundle_status trundle_chain_in_place(const char *chain,
                                      const struct trundle_tensor_desc *data_desc,
                                      void *data);

/**
 * Takes the elements at indices of `axis`: the axes of the indices come in its place. Gather of
 * ONNX and OpenVINO, numpy's take.
 *
 * `indices` is a tensor of i32 or i64 of any sizes. Those from -size to -1 count from the end of the
 * axis; others below 0, and those from its size on, are refused. A negative `axis` counts from
 * the end. `out` has the type of `data` and its sizes, with those of the indices in the place of
 * the axis. For an `out` without elements no index is read.
 */
trundle_status trundle_gather(const struct trundle_tensor_desc *data_desc,
                              const void *data,
                              const struct trundle_tensor_desc *indices_desc,
                              const void *indices,
                              int64_t axis,
                              const struct trundle_tensor_desc *out_desc,
                              void *out);

/**
 * Plans trundle_gather() at these indices, which are read now and not again. The plan is written to
 * `plan`, and is the caller's to free.
 */
trundle_status trundle_gather_plan(const struct trundle_tensor_desc *data_desc,
                                   const struct trundle_tensor_desc *indices_desc,
                                   const void *indices,
                                   int64_t axis,
                                   const struct trundle_tensor_desc *out_desc,
                                   struct trundle_plan **plan);

/**
 * Takes, for each position of the indices, the element of its row along `axis`, at the index that stands
 * there: out[i][j][k] = data[i][indices[i][j][k]][k] along the middle one of three axes.
 * GatherElements of ONNX and OpenVINO, numpy's take_along_axis.
 *
 * `indices` is a tensor of i32 or i64 of as many axes as `data`, and along the others than `axis` of its
 * size, or of fewer: then they are for the first positions. Indices and a negative `axis` are as in
 * trundle_gather(). `out` has the type of `data` and the sizes of the indices.
 */
trundle_status trundle_gather_elements(const struct trundle_tensor_desc *data_desc,
                                       const void *data,
                                       const struct trundle_tensor_desc *indices_desc,
                                       const void *indices,
                                       int64_t axis,
                                       const struct trundle_tensor_desc *out_desc,
                                       void *out);

/**
 * Plans trundle_gather_elements() at these indices, which are read now and not again. The plan is
 * written to `plan`, and is the caller's to free.
 */
trundle_status trundle_gather_elements_plan(const struct trundle_tensor_desc *data_desc,
                                            const struct trundle_tensor_desc *indices_desc,
                                            const void *indices,
                                            int64_t axis,
                                            const struct trundle_tensor_desc *out_desc,
                                            struct trundle_plan **plan);

/**
 * Takes the elements, or slices, at indices of several axes together: the last axis of `indices` has one for
 * each of these. GatherND of ONNX and OpenVINO.
 *
 * The first `batch_axes` axes of `data` and of the indices are the same, and each element of `out` is of its
 * own batch; the axes after them are those that are indexed. `indices` is a tensor of i32 or i64; what they
 * are is as in trundle_gather(). `out` has the type of `data`, and the sizes of the indices without their last
 * axis, followed by those of the axes of `data` that are not indexed. For an `out` without elements no index
 * is read.
 */
trundle_status trundle_gather_nd(const struct trundle_tensor_desc *data_desc,
                                 const void *data,
                                 const struct trundle_tensor_desc *indices_desc,
                                 const void *indices,
                                 uint32_t batch_axes,
                                 const struct trundle_tensor_desc *out_desc,
                                 void *out);

/**
 * Plans trundle_gather_nd() at these indices, which are read now and not again. The plan is
 * written to `plan`, and is the caller's to free.
 */
trundle_status trundle_gather_nd_plan(const struct trundle_tensor_desc *data_desc,
                                      const struct trundle_tensor_desc *indices_desc,
                                      const void *indices,
                                      uint32_t batch_axes,
                                      const struct trundle_tensor_desc *out_desc,
                                      struct trundle_plan **plan);

/**
 * Writes the elements of `data`, and over them, for each position of the indices, the element of `updates`: to
 * its row along `axis`, at the index that stands there. Along the middle one of three axes
 * out[i][indices[i][j][k]][k] = updates[i][j][k]. ScatterElements of ONNX and OpenVINO without a reduction;
 * numpy's put_along_axis, but to another tensor.
 *
 * `indices` is a tensor of i32 or i64 of as many axes as `data`, and along the others than `axis` of its
 * size, or of fewer: then they are for the first positions. Those from -size to -1 count from the end of the
 * axis; others below 0, and those from its size on, are refused. Of several for one place the last counts,
 * in row-major order of the indices. A negative `axis` counts from the end. `updates` has the type of `data`
 * and the sizes of the indices; `out` has the type and the sizes of `data`.
 */
trundle_status trundle_scatter_elements(const struct trundle_tensor_desc *data_desc,
                                        const void *data,
                                        const struct trundle_tensor_desc *indices_desc,
                                        const void *indices,
                                        const struct trundle_tensor_desc *updates_desc,
                                        const void *updates,
                                        int64_t axis,
                                        const struct trundle_tensor_desc *out_desc,
                                        void *out);

/**
 * Plans trundle_scatter_elements() at these indices, which are read now and not again. The plan is written to
 * `plan`, and is the caller's to free; trundle_plan_run_inputs() runs it on the data and the updates, in this
 * order.
 */
trundle_status trundle_scatter_elements_plan(const struct trundle_tensor_desc *data_desc,
                                             const struct trundle_tensor_desc *indices_desc,
                                             const void *indices,
                                             const struct trundle_tensor_desc *updates_desc,
                                             int64_t axis,
                                             const struct trundle_tensor_desc *out_desc,
                                             struct trundle_plan **plan);

/**
 * Writes the elements of `data`, and over them the elements, or slices, of `updates`, at indices of several axes
 * together: the last axis of `indices` has one for each of the first axes of `data`. ScatterND of ONNX and
 * OpenVINO without a reduction.
 *
 * `indices` is a tensor of i32 or i64; what they are, and which of several for one place counts, is as in
 * trundle_scatter_elements(). `updates` has the type of `data`, and the sizes of the indices without their
 * last axis, followed by those of the axes of `data` that are not indexed; where that is one element without
 * axes, it may have any number of axes of one. `out` has the type and the sizes of `data`.
 */
trundle_status trundle_scatter_nd(const struct trundle_tensor_desc *data_desc,
                                  const void *data,
                                  const struct trundle_tensor_desc *indices_desc,
                                  const void *indices,
                                  const struct trundle_tensor_desc *updates_desc,
                                  const void *updates,
                                  const struct trundle_tensor_desc *out_desc,
                                  void *out);

/**
 * Plans trundle_scatter_nd() at these indices, which are read now and not again. The plan is written to
 * `plan`, and is the caller's to free; trundle_plan_run_inputs() runs it on the data and the updates, in this
 * order.
 */
trundle_status trundle_scatter_nd_plan(const struct trundle_tensor_desc *data_desc,
                                       const struct trundle_tensor_desc *indices_desc,
                                       const void *indices,
                                       const struct trundle_tensor_desc *updates_desc,
                                       const struct trundle_tensor_desc *out_desc,
                                       struct trundle_plan **plan);

/**
 * Puts `count` tensors one after another along `axis`, on which alone their sizes may differ.
 * OpenVINO's Concat-1, numpy's concatenate.
 *
 * The inputs are of one type and may have any strides; one memory may be several of them. A
 * negative axis counts from the end. `out` has their type and their sizes, on `axis` the sum of
 * theirs.
 */
trundle_status trundle_concatenate(const struct trundle_input *inputs,
                                   size_t count,
                                   int64_t axis,
                                   const struct trundle_tensor_desc *out_desc,
                                   void *out);

/**
 * Plans trundle_concatenate() of `count` tensors, which are described one after another. The plan is
 * written to `plan`, and is the caller's to free; it is run by trundle_plan_run_inputs().
 */
trundle_status trundle_concatenate_plan(const struct trundle_tensor_desc *input_descs,
                                        size_t count,
                                        int64_t axis,
                                        const struct trundle_tensor_desc *out_desc,
                                        struct trundle_plan **plan);

/**
 * Puts elements before and behind the tensor along its axes. numpy's pad; in
 * TRUNDLE_PAD_CONSTANT OpenVINO's Pad-12 too.
 *
 * `widths` says how many: before and behind along the first axis, along the second, and so on
 * (`widths_len` is twice the rank); two numbers or one are for all axes. None is negative. `mode` is
 * one of TRUNDLE_PAD_*; `value` is an element of the type of `data` that TRUNDLE_PAD_CONSTANT puts
 * there, and is not read by the others. `out` has the type of `data` and its sizes with the widths.
 */
trundle_status trundle_pad(const struct trundle_tensor_desc *data_desc,
                           const void *data,
                           const int64_t *widths,
                           size_t widths_len,
                           trundle_pad_mode mode,
                           const void *value,
                           const struct trundle_tensor_desc *out_desc,
                           void *out);

/**
 * Plans trundle_pad() by these widths and with this value, which are read now and not again. The
 * plan is written to `plan`, and is the caller's to free.
 */
trundle_status trundle_pad_plan(const struct trundle_tensor_desc *data_desc,
                                const int64_t *widths,
                                size_t widths_len,
                                trundle_pad_mode mode,
                                const void *value,
                                const struct trundle_tensor_desc *out_desc,
                                struct trundle_plan **plan);

/**
 * Writes a tensor in `count` parts, which follow each other along `axis`: what trundle_concatenate() makes
 * the tensor of. OpenVINO's Split-1 and VariadicSplit-1, numpy's split.
 *
 * Each output says the size of its part on `axis`; together they fill the axis of `data`. Their other
 * sizes and their type are those of `data`, their strides any. A negative axis counts from the end. The
 * memory of each output must be apart from that of the others too.
 */
trundle_status trundle_split(const struct trundle_tensor_desc *data_desc,
                             const void *data,
                             const struct trundle_output *outputs,
                             size_t count,
                             int64_t axis);

/**
 * Plans trundle_split() into `count` parts, which are described one after another. The plan is written to
 * `plan`, and is the caller's to free; it is run by trundle_plan_run_outputs().
 */
trundle_status trundle_split_plan(const struct trundle_tensor_desc *data_desc,
                                  const struct trundle_tensor_desc *output_descs,
                                  size_t count,
                                  int64_t axis,
                                  struct trundle_plan **plan);

/**
 * Does what was planned, from `data` to `out`, which lie in memory as was described. Several threads
 * may run one plan at once. A plan of several inputs or outputs is refused: see trundle_plan_run_inputs(),
 * trundle_plan_run_outputs() and trundle_plan_run_all().
 *
 * It allocates no memory, with two exceptions. What lies between several passes over memory is
 * allocated with the plan; a run beside another one allocates its own. And what falls into too many
 * pieces is planned piece by piece in each run, of which trundle_plan_describe() says "in tiles".
 */
trundle_status trundle_plan_run(const struct trundle_plan *plan,
                                const void *data,
                                void *out);

/**
 * Does what was planned, from `count` inputs to `out`, which lie in memory as was described: from as
 * many, and in the order, as the plan was made for. All else is as trundle_plan_run() has it; of more
 * than 64 inputs it allocates a list. One memory may be several inputs.
 */
trundle_status trundle_plan_run_inputs(const struct trundle_plan *plan,
                                       const void *const *inputs,
                                       size_t count,
                                       void *out);

/**
 * Does what was planned, from `data` to `count` outputs, which lie in memory as was described: to as many,
 * and in the order, as the plan was made for. The memory of each output must be apart from that of the
 * others too. All else is as trundle_plan_run() has it; of more than 64 outputs it allocates a list.
 */
trundle_status trundle_plan_run_outputs(const struct trundle_plan *plan,
                                        const void *data,
                                        void *const *outputs,
                                        size_t count);

/**
 * Does what was planned, from `input_count` inputs to `output_count` outputs, which lie in memory as was
 * described: from and to as many, and in the order, as the plan was made for; plans of one input or output
 * too. The memory of each output must be apart from that of the others too, and of all inputs. All else is
 * as trundle_plan_run() has it; of more than 64 inputs or outputs it allocates lists, and the constants
 * that a model moves count as inputs. One memory may be several inputs.
 */
trundle_status trundle_plan_run_all(const struct trundle_plan *plan,
                                    const void *const *inputs,
                                    size_t input_count,
                                    void *const *outputs,
                                    size_t output_count);

/**
 * Says what output number `output` of a plan is, from 0 on: its element type is written to `dtype`, which
 * may be NULL, and its sizes to `sizes`, as trundle_chain_out_sizes() has it. Those of a model are packed,
 * row-major.
 */
trundle_status trundle_plan_output(const struct trundle_plan *plan,
                                   size_t output,
                                   trundle_dtype *dtype,
                                   uint64_t *sizes,
                                   uint32_t capacity,
                                   uint32_t *rank);

/**
 * Says in words how a plan does it: its passes over memory, and of each the operators, where every
 * element comes from, and the loops, kernels and threads. The words are for people, UTF-8 in several
 * lines, and others in other versions.
 *
 * They are written to `buffer`, which has room for `capacity` bytes, with a NUL behind them; and how
 * many bytes that takes, the NUL too, to `needed`, which may be NULL. With a capacity of 0 only that
 * is asked for, and `buffer` may be NULL; with one that is too small otherwise nothing is written.
 */
trundle_status trundle_plan_describe(const struct trundle_plan *plan,
                                     char *buffer,
                                     size_t capacity,
                                     size_t *needed);

/**
 * Frees a plan, which no thread may be running. NULL is no plan, and nothing is done.
 */
void trundle_plan_free(struct trundle_plan *plan);

/**
 * Plans any stages in a row, such as "flip(axes=[2]) | h w c -> c h w": all that docs/chains.md
 * says, but that lengths are lists and no files. It takes one pass over memory where one is enough.
 * The plan is written to `plan`, and is the caller's to free. A chain that names other tensors, as
 * "concat(_, b)" does, is refused: see trundle_chain_plan_inputs().
 *
 * `chain` is UTF-8, and is not needed any more when this returns. `out` has the type of `data`, and
 * the sizes that trundle_chain_out_sizes() says. What is wrong with the chain, or does not fit the
 * sizes, the message shows in several lines: the part of the chain, carets below it, and often what
 * to write instead.
 */
trundle_status trundle_chain_plan(const char *chain,
                                  const struct trundle_tensor_desc *data_desc,
                                  const struct trundle_tensor_desc *out_desc,
                                  struct trundle_plan **plan);

/**
 * Plans a chain of several tensors, such as "concat(_, b, axis=0) | flip(0)": trundle_chain_plan() with
 * `count` tensors, whose names are `names` and which are described by `input_descs`, one after another.
 * "_" is the name of the one without a name. The plan is run by trundle_plan_run_inputs(), which is
 * given them in the same order.
 *
 * Every tensor that the chain takes is one of them, and each of them is taken. They have one type.
 */
trundle_status trundle_chain_plan_inputs(const char *chain,
                                         const char *const *names,
                                         const struct trundle_tensor_desc *input_descs,
                                         size_t count,
                                         const struct trundle_tensor_desc *out_desc,
                                         struct trundle_plan **plan);

/**
 * Says the sizes of what a chain of several tensors makes, which are given as to
 * trundle_chain_plan_inputs(): see trundle_chain_out_sizes().
 */
trundle_status trundle_chain_out_sizes_inputs(const char *chain,
                                              const char *const *names,
                                              const struct trundle_tensor_desc *input_descs,
                                              size_t count,
                                              uint64_t *sizes,
                                              uint32_t capacity,
                                              uint32_t *rank);

/**
 * Says the sizes of what a chain makes of `data`: how many there are is written to `rank`, and they
 * to `sizes`, which has room for `capacity` of them. With a capacity of 0 only the rank is asked
 * for, and `sizes` may be NULL; with one that is too small otherwise nothing is written.
 */
trundle_status trundle_chain_out_sizes(const char *chain,
                                       const struct trundle_tensor_desc *data_desc,
                                       uint64_t *sizes,
                                       uint32_t capacity,
                                       uint32_t *rank);

/**
 * Opens a model: ONNX at a `path` that ends with .onnx, OpenVINO IR at one with .xml, with the files of its
 * weights in the same folder. The model is written to `model`, and is the caller's to free; its files are not
 * needed any more when this returns. `links` is one of TRUNDLE_LINKS_*.
 *
 * What models may hold, docs/models.md says. One that computes is refused with TRUNDLE_ERROR_UNSUPPORTED, and
 * the message names and counts all operators that do.
 */
trundle_status trundle_model_open(const char *path,
                                  trundle_links links,
                                  struct trundle_model **model);

/**
 * Says in words what a model is: its inputs with their types and sizes, its operators, its outputs. The words are
 * told as those of trundle_plan_describe().
 */
trundle_status trundle_model_describe(const struct trundle_model *model,
                                      char *buffer,
                                      size_t capacity,
                                      size_t *needed);

/**
 * How many inputs a model takes; 0 for NULL.
 */
size_t trundle_model_input_count(const struct trundle_model *model);

/**
 * How many outputs a model gives; 0 for NULL.
 */
size_t trundle_model_output_count(const struct trundle_model *model);

/**
 * The name of input number `input` of a model, from 0 on, in UTF-8; NULL if there is none. It is valid until the
 * model is freed.
 */
const char *trundle_model_input_name(const struct trundle_model *model,
                                     size_t input);

/**
 * The name of output number `output` of a model, as trundle_model_input_name() has it. What it is, a plan knows:
 * see trundle_plan_output().
 */
const char *trundle_model_output_name(const struct trundle_model *model,
                                      size_t output);

/**
 * Says what input number `input` of a model must be, from 0 on: its element type is written to `dtype`, which may
 * be NULL, and its sizes to `sizes`, as trundle_chain_out_sizes() has it. A size that may be any, or one of
 * several, is -1: trundle_model_describe() says more of it. Where the rank may be any, TRUNDLE_RANK_ANY is
 * written to `rank`, and no size. An input of texts is refused with TRUNDLE_ERROR_DTYPE.
 */
trundle_status trundle_model_input(const struct trundle_model *model,
                                   size_t input,
                                   trundle_dtype *dtype,
                                   int64_t *sizes,
                                   uint32_t capacity,
                                   uint32_t *rank);

/**
 * Says of which inputs the elements decide what a model moves where, as an order of axes, a size or an index does:
 * for each of the `count` inputs 1 is written to `decides`, or 0. The inputs are given as to
 * trundle_model_plan(), with the data of all that may decide.
 */
trundle_status trundle_model_deciding_inputs(const struct trundle_model *model,
                                             const struct trundle_tensor_desc *input_descs,
                                             const void *const *data,
                                             size_t count,
                                             uint8_t *decides);

/**
 * Plans a model for `count` inputs, as many as it takes and in its order, which are described one after another
 * and lie packed, row-major. The plan is written to `plan`, and is the caller's to free; trundle_plan_output()
 * says what its outputs are, and trundle_plan_run_all() runs it on the same inputs, in the same order. The model
 * may be freed before it.
 *
 * `data` has the data of those inputs whose elements decide what is moved where, and NULL for all others; it may be
 * NULL where none does. They are read now and not again, but must be there when the plan is run. One that is
 * missing is named in the message: see trundle_model_deciding_inputs().
 */
trundle_status trundle_model_plan(const struct trundle_model *model,
                                  const struct trundle_tensor_desc *input_descs,
                                  const void *const *data,
                                  size_t count,
                                  struct trundle_plan **plan);

/**
 * Frees a model, which no call may be using. NULL is no model, and nothing is done. Its plans stay.
 */
void trundle_model_free(struct trundle_model *model);

/**
 * Reverses, for each position outside `Axis`, the first `length` elements along it, and copies the
 * rest. A length over the size of the axis counts as the size.
 *
 * With a feature level, it is refused unless DirectML has it there: see
 * trundle_directml_check_reverse_subsequences(). The pointers are those to the first bytes of the
 * buffers. Only what the tensors cover of them is touched.
 */
trundle_status trundle_directml_reverse_subsequences(const struct TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC *desc,
                                                     trundle_feature_level feature_level,
                                                     const void *input,
                                                     const void *lengths,
                                                     void *output);

/**
 * Checks a description without moving anything: what the operator itself asks, and with a feature
 * level also the ranks and the types of DirectML's tables for it, that no size is 0, that there
 * are at most 2^32 - 1 elements, and that every TotalTensorSizeInBytes is as large as
 * trundle_directml_minimum_buffer_bytes() says.
 */
trundle_status trundle_directml_check_reverse_subsequences(const struct TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC *desc,
                                                           trundle_feature_level feature_level);

/**
 * The least size of a buffer for a tensor, whatever its TotalTensorSizeInBytes: DirectML's
 * DMLCalcBufferTensorSize, (dot(Sizes - 1, Strides) + 1) elements in bytes, rounded up to a multiple
 * of 4, but computed in 64 bits throughout. It is written to `bytes`.
 */
trundle_status trundle_directml_minimum_buffer_bytes(const struct TRUNDLE_BUFFER_TENSOR_DESC *desc,
                                                     uint64_t *bytes);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TRUNDLE_H */
