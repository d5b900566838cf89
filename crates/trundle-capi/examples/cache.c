/* A cache of four rows, as one that a network keeps for each token: new rows are put in their slots, the rows
 * that are wanted are put behind those of a prompt by a plan that is run again and again, and the result is
 * split into two heads.
 *
 *     cc cache.c $(pkg-config --cflags --libs trundle) -o cache && ./cache
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <trundle.h>

enum { SLOTS = 4, NEW = 2, PROMPT = 2, CHANNELS = 4, HEAD = 2, ALL = PROMPT + SLOTS };

static void check(trundle_status status)
{
    if (status != TRUNDLE_OK) {
        fprintf(stderr, "%s\n", trundle_last_error());
        exit(1);
    }
}

static void print(const int16_t *rows, int count, int channels)
{
    for (int row = 0; row < count; row++) {
        for (int channel = 0; channel < channels; channel++) {
            printf("%4d", rows[row * channels + channel]);
        }
        printf("\n");
    }
}

int main(void)
{
    static const int16_t cache[SLOTS][CHANNELS] = {
        {1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}};
    static const int16_t new_rows[NEW][CHANNELS] = {{21, 22, 23, 24}, {31, 32, 33, 34}};
    static const int16_t prompt[PROMPT][CHANNELS] = {{41, 42, 43, 44}, {51, 52, 53, 54}};
    static int16_t updated[SLOTS][CHANNELS], all[ALL][CHANNELS];
    static int16_t heads[2][ALL][HEAD];

    const uint64_t cache_sizes[] = {SLOTS, CHANNELS}, new_sizes[] = {NEW, CHANNELS};
    const uint64_t prompt_sizes[] = {PROMPT, CHANNELS}, all_sizes[] = {ALL, CHANNELS};
    const uint64_t slot_sizes[] = {NEW, 1}, head_sizes[] = {ALL, HEAD};
    const trundle_tensor_desc cache_desc = {TRUNDLE_DTYPE_I16, 2, cache_sizes, NULL};
    const trundle_tensor_desc new_desc = {TRUNDLE_DTYPE_I16, 2, new_sizes, NULL};
    const trundle_tensor_desc prompt_desc = {TRUNDLE_DTYPE_I16, 2, prompt_sizes, NULL};
    const trundle_tensor_desc all_desc = {TRUNDLE_DTYPE_I16, 2, all_sizes, NULL};
    const trundle_tensor_desc slots_desc = {TRUNDLE_DTYPE_I64, 2, slot_sizes, NULL};
    const trundle_tensor_desc head_desc = {TRUNDLE_DTYPE_I16, 2, head_sizes, NULL};

    /* New rows in the last slot and the second one. */
    const int64_t slots[NEW][1] = {{-1}, {1}};
    check(trundle_scatter_nd(&cache_desc, cache, &slots_desc, slots, &new_desc, new_rows, &cache_desc,
                             updated));

    /* Planned once, for any rows that lie so. */
    const trundle_tensor_desc descs[] = {prompt_desc, cache_desc};
    trundle_plan *plan;
    check(trundle_concatenate_plan(descs, 2, 0, &all_desc, &plan));
    const void *const inputs[] = {prompt, updated};
    check(trundle_plan_run_inputs(plan, inputs, 2, all));
    print(&all[0][0], ALL, CHANNELS);

    /* Each head by itself. */
    const trundle_output outputs[] = {{&head_desc, heads[0]}, {&head_desc, heads[1]}};
    check(trundle_split(&all_desc, all, outputs, 2, 1));
    print(&heads[1][0][0], ALL, HEAD);

    /* What does not fit is refused, and says why. */
    const int64_t wrong[NEW][1] = {{0}, {SLOTS}};
    if (trundle_scatter_nd(&cache_desc, cache, &slots_desc, wrong, &new_desc, new_rows, &cache_desc,
                           updated) == TRUNDLE_OK) {
        return 1;
    }
    printf("%s\n", trundle_last_error());
    if (trundle_plan_run(plan, prompt, all) == TRUNDLE_OK) {
        return 1;
    }
    printf("%s\n", trundle_last_error());
    trundle_plan_free(plan);
    return 0;
}
