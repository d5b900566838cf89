/* A model that only moves elements, as written by an exporter. The program prints its inputs and outputs, plans it
 * once for a batch of images, and runs the plan on several batches.
 *
 *     cc model.c $(pkg-config --cflags --libs trundle) -o model && ./model docs/examples/patches.onnx
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <trundle.h>

enum { BATCH = 2, MOST_RANK = 8 };

static void check(trundle_status status)
{
    if (status != TRUNDLE_OK) {
        fprintf(stderr, "%s\n", trundle_last_error());
        exit(1);
    }
}

/* Prints the first line of a description. */
static void print_first_line(char *words)
{
    size_t end = 0;
    while (words[end] != '\0' && words[end] != '\n') {
        end++;
    }
    printf("%.*s\n", (int)end, words);
    free(words);
}

static void print_input(const trundle_model *model, size_t input)
{
    trundle_dtype dtype;
    int64_t sizes[MOST_RANK];
    uint32_t rank;
    check(trundle_model_input(model, input, &dtype, sizes, MOST_RANK, &rank));
    printf("input %s: %s", trundle_model_input_name(model, input), trundle_dtype_name(dtype));
    if (rank == TRUNDLE_RANK_ANY) {
        printf(" of any rank");
        rank = 0;
    }
    for (uint32_t axis = 0; axis < rank; axis++) {
        printf(" %" PRId64, sizes[axis]);
    }
    printf("\n");
}

/* Prints the type and sizes of an output, and returns its number of elements. */
static size_t print_output(const trundle_model *model, const trundle_plan *plan, size_t output)
{
    trundle_dtype dtype;
    uint64_t sizes[MOST_RANK];
    uint32_t rank;
    size_t elements = 1;
    check(trundle_plan_output(plan, output, &dtype, sizes, MOST_RANK, &rank));
    printf("output %s: %s", trundle_model_output_name(model, output), trundle_dtype_name(dtype));
    for (uint32_t axis = 0; axis < rank; axis++) {
        printf(" %" PRIu64, sizes[axis]);
        elements *= (size_t)sizes[axis];
    }
    printf("\n");
    return elements;
}

int main(int count, char **arguments)
{
    trundle_model *model;
    trundle_plan *plan;
    size_t bytes;
    check(trundle_model_open(count > 1 ? arguments[1] : "patches.onnx", TRUNDLE_LINKS_WITHIN, &model));
    check(trundle_model_describe(model, NULL, 0, &bytes));
    char *words = malloc(bytes);
    check(trundle_model_describe(model, words, bytes, NULL));
    print_first_line(words);
    for (size_t input = 0; input < trundle_model_input_count(model); input++) {
        print_input(model, input);
    }

    /* For these sizes the model is one pass over memory; planning needs no data. */
    const uint64_t sizes[] = {BATCH, 224, 224, 3};
    const trundle_tensor_desc image = {TRUNDLE_DTYPE_F32, 4, sizes, NULL};
    const void *const unknown[] = {NULL};
    uint8_t decides;
    check(trundle_model_deciding_inputs(model, &image, unknown, 1, &decides));
    printf("its elements decide: %d\n", decides);
    check(trundle_model_plan(model, &image, NULL, 1, &plan));
    check(trundle_plan_describe(plan, NULL, 0, &bytes));
    words = malloc(bytes);
    check(trundle_plan_describe(plan, words, bytes, NULL));
    print_first_line(words);
    size_t elements = 0;
    for (size_t output = 0; output < trundle_model_output_count(model); output++) {
        elements = print_output(model, plan, output);
    }

    /* Runs allocate no memory. */
    float *images = malloc(elements * sizeof(float)), *patches = malloc(elements * sizeof(float));
    for (int batch = 0; batch < 2; batch++) {
        for (size_t at = 0; at < elements; at++) {
            images[at] = (float)(at % 1000 + 1000 * (size_t)batch);
        }
        const void *const inputs[] = {images};
        void *const outputs[] = {patches};
        check(trundle_plan_run_all(plan, inputs, 1, outputs, 1));
        /* The second row of the first patch is the second row of the image. */
        printf("%g %g\n", (double)patches[48], (double)images[(size_t)224 * 3]);
    }

    /* Wrong sizes are an error with a message. */
    const uint64_t small_sizes[] = {BATCH, 224, 3};
    const trundle_tensor_desc small = {TRUNDLE_DTYPE_F32, 3, small_sizes, NULL};
    if (trundle_model_plan(model, &small, NULL, 1, &plan) == TRUNDLE_OK) {
        return 1;
    }
    printf("%s\n", trundle_last_error());
    trundle_plan_free(plan);
    trundle_model_free(model);
    free(images);
    free(patches);
    return 0;
}
