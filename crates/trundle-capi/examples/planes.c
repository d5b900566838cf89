/* Converts an interleaved BGR image to planes in RGB order: a transpose with one axis reversed, in
 * one pass.
 *
 *     cc planes.c $(pkg-config --cflags --libs trundle) -o planes && ./planes
 */
#include <inttypes.h>
#include <stdio.h>

#include <trundle.h>

enum { ROWS = 2, COLUMNS = 3, CHANNELS = 3 };

int main(void)
{
    static const uint8_t bgr[ROWS][COLUMNS][CHANNELS] = {
        {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}},
        {{11, 12, 13}, {14, 15, 16}, {17, 18, 19}},
    };
    static uint8_t planes[CHANNELS][ROWS][COLUMNS];

    const uint64_t picture_sizes[] = {ROWS, COLUMNS, CHANNELS};
    const int64_t picture_strides[] = {COLUMNS * CHANNELS, CHANNELS, -1};
    const uint64_t planes_sizes[] = {CHANNELS, ROWS, COLUMNS};
    const int64_t order[] = {2, 0, 1};
    const trundle_tensor_desc from = {TRUNDLE_DTYPE_U8, 3, picture_sizes, picture_strides};
    const trundle_tensor_desc to = {TRUNDLE_DTYPE_U8, 3, planes_sizes, NULL};

    /* A negative stride reads the channels in reverse: index 0 is red, the last in memory. */
    if (trundle_transpose(&from, &bgr[0][0][2], order, 3, &to, planes) != TRUNDLE_OK) {
        fprintf(stderr, "%s\n", trundle_last_error());
        return 1;
    }
    for (int channel = 0; channel < CHANNELS; channel++) {
        for (int row = 0; row < ROWS; row++) {
            for (int column = 0; column < COLUMNS; column++) {
                printf("%3" PRIu8, planes[channel][row][column]);
            }
        }
        printf("\n");
    }

    /* Wrong sizes are an error with a message. */
    const int64_t wrong[] = {2, 0, 3};
    if (trundle_transpose(&from, &bgr[0][0][2], wrong, 3, &to, planes) == TRUNDLE_OK) {
        return 1;
    }
    printf("%s\n", trundle_last_error());
    return 0;
}
