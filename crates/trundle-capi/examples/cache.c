/* Updates a cache of token rows, as a language model keeps one. Three plans run on it: a scatter writes new rows
 * into their slots, a concatenation appends the cache to the rows of a prompt, and a split makes two heads.
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

    /* The plans work for any data with the same descriptions. The scatter writes to the last slot and to slot 1. */
    const int64_t slots[NEW][1] = {{-1}, {1}};
    const trundle_tensor_desc parts[] = {prompt_desc, cache_desc}, halves[] = {head_desc, head_desc};
    trundle_plan *put, *join, *split;
    check(trundle_scatter_nd_plan(&cache_desc, &slots_desc, slots, &new_desc, &cache_desc, &put));
    check(trundle_concatenate_plan(parts, 2, 0, &all_desc, &join));
    check(trundle_split_plan(&all_desc, halves, 2, 1, &split));

    const void *const rows[] = {cache, new_rows}, *const inputs[] = {prompt, updated};
    void *const outputs[] = {heads[0], heads[1]};
    check(trundle_plan_run_inputs(put, rows, 2, updated));
    check(trundle_plan_run_inputs(join, inputs, 2, all));
    check(trundle_plan_run_outputs(split, all, outputs, 2));
    print(&all[0][0], ALL, CHANNELS);
    print(&heads[1][0][0], ALL, HEAD);

    /* Wrong shapes are an error with a message. */
    const int64_t wrong[NEW][1] = {{0}, {SLOTS}};
    if (trundle_scatter_nd(&cache_desc, cache, &slots_desc, wrong, &new_desc, new_rows, &cache_desc,
                           updated) == TRUNDLE_OK) {
        return 1;
    }
    printf("%s\n", trundle_last_error());
    if (trundle_plan_run(join, prompt, all) == TRUNDLE_OK) {
        return 1;
    }
    printf("%s\n", trundle_last_error());
    trundle_plan_free(put);
    trundle_plan_free(join);
    trundle_plan_free(split);
    return 0;
}
