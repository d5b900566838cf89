/* A chain in one pass: cuts a BGR image into patches, one row each, in RGB order. The program gets
 * the output sizes, makes a plan, prints its description, and runs it on the calling thread alone.
 *
 *     cc chain.c $(pkg-config --cflags --libs trundle) -o chain && ./chain
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trundle.h>

enum { ROWS = 2, COLUMNS = 4, CHANNELS = 3, MOST_AXES = 8 };

static const char *const chain = "flip(axes=[2]) | h (w p) c -> (h w) (p c), p=2";

static void check(trundle_status status)
{
    if (status != TRUNDLE_OK) {
        fprintf(stderr, "%s\n", trundle_last_error());
        exit(1);
    }
}

/* Prints the first line of a plan's description. */
static void print_first_line(const trundle_plan *plan)
{
    size_t needed;
    check(trundle_plan_describe(plan, NULL, 0, &needed));
    char *const words = malloc(needed);
    if (words == NULL) {
        exit(1);
    }
    check(trundle_plan_describe(plan, words, needed, NULL));
    printf("%.*s\n", (int)strcspn(words, "\n"), words);
    free(words);
}

int main(void)
{
    if (strcmp(TRUNDLE_VERSION, trundle_version()) != 0) {
        fprintf(stderr, "header %s, library %s\n", TRUNDLE_VERSION, trundle_version());
    }
    uint8_t picture[ROWS * COLUMNS * CHANNELS];
    for (size_t i = 0; i < sizeof picture; i++) {
        picture[i] = (uint8_t)i;
    }
    const uint64_t picture_sizes[] = {ROWS, COLUMNS, CHANNELS};
    const trundle_tensor_desc from = {TRUNDLE_DTYPE_U8, 3, picture_sizes, NULL};

    uint64_t sizes[MOST_AXES];
    trundle_tensor_desc to = {TRUNDLE_DTYPE_U8, 0, sizes, NULL};
    check(trundle_chain_out_sizes(chain, &from, sizes, MOST_AXES, &to.rank));
    size_t elements = 1;
    for (uint32_t axis = 0; axis < to.rank; axis++) {
        elements *= (size_t)sizes[axis];
    }
    uint8_t *const patches = malloc(elements);
    if (patches == NULL) {
        return 1;
    }

    trundle_set_num_threads(1);
    trundle_plan *plan;
    check(trundle_chain_plan(chain, &from, &to, &plan));
    print_first_line(plan);
    check(trundle_plan_run(plan, picture, patches));
    trundle_plan_free(plan);
    for (size_t i = 0; i < elements; i++) {
        printf("%3" PRIu8 "%s", patches[i], (i + 1) % sizes[1] == 0 ? "\n" : "");
    }
    free(patches);

    /* The message shows the position of a mistake. */
    if (trundle_chain_plan("flip(axes=[2]) | tanspose(2, 0, 1)", &from, &to, &plan) == TRUNDLE_OK) {
        return 1;
    }
    printf("%s\n", trundle_last_error());
    return 0;
}
