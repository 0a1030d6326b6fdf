/*
 * jpeg.c: a baseline JPEG (ITU-T T.81) for charts: no colour is subsampled, since lines are thin, and all values are
 * kept alike. Its codes have two lengths: 1 bit for "as before" and "nothing more", which is most of a chart, and
 * 9 bits for all the rest.
 */
#include "draw/jpeg.h"

#include <math.h>

#include "base/buf.h"
#include "base/mem.h"

#define STEP   4  /* values are kept to this: a white ground stays white */
#define SIZES  10 /* bits that a value other than the first may have; the first has one more */
#define RUN_16 (16 * SIZES + 1)

struct jpeg {
    struct buf *out;
    uint32_t bits;
    int n;
    double wave[8][8]; /* of each frequency, at each place */
};

static void put_bits(struct jpeg *j, int v, int n)
{
    j->bits = j->bits << n | (uint32_t)v;
    for (j->n += n; j->n >= 8; j->n -= 8) {
        uint8_t c = (uint8_t)(j->bits >> (j->n - 8));
        buf_u8(j->out, c);
        if (c == 0xff) /* else it would begin a marker */
            buf_u8(j->out, 0);
    }
}

/* The place of its size among the codes, counted from `from`, and the value itself. */
static void put_value(struct jpeg *j, int from, int v)
{
    int n = v ? 32 - __builtin_clz((unsigned)abs(v)) : 0;
    put_bits(j, n ? 0xff + from + n : 0, n ? 9 : 1);
    put_bits(j, v < 0 ? v + (1 << n) - 1 : v, n);
}

static void put_block(struct jpeg *j, const int v[64], int *before)
{
    int last = 63, zeros = 0;
    put_value(j, 0, v[0] - *before);
    *before = v[0];
    while (last > 0 && !v[last])
        last--;
    for (int i = 1; i <= last; i++) {
        if (!v[i] && ++zeros < 16)
            continue;
        if (v[i])
            put_value(j, zeros * SIZES, v[i]);
        else
            put_bits(j, 0xff + RUN_16, 9);
        zeros = 0;
    }
    if (last < 63)
        put_bits(j, 0, 1);
}

/* ret[u][y]: how much of frequency u is in row y. Twice, and rows and columns are where they were. */
static void turn(const struct jpeg *j, double in[8][8], double ret[8][8])
{
    for (int u = 0; u < 8; u++)
        for (int y = 0; y < 8; y++) {
            ret[u][y] = 0;
            for (int x = 0; x < 8; x++)
                ret[u][y] += in[y][x] * j->wave[u][x];
        }
}

/* From low frequencies to high ones: along the diagonals, up one and down the next. even: there are none. */
static void put_colour(struct jpeg *j, double in[8][8], bool even, int *before)
{
    double half[8][8], all[8][8];
    int v[64] = {(int)lround(in[0][0] * 8 / STEP)}, n = 0;
    if (even) {
        put_block(j, v, before);
        return;
    }
    turn(j, in, half);
    turn(j, half, all);
    for (int sum = 0; sum < 15; sum++)
        for (int a = MIN(sum, 7); a >= 0 && sum - a < 8; a--)
            v[n++] = (int)lround((sum % 2 ? all[sum - a][a] : all[a][sum - a]) / STEP);
    put_block(j, v, before);
}

static void put_head(struct buf *out, int width, int height)
{
    const uint8_t size[] = {(uint8_t)(height >> 8), (uint8_t)height, (uint8_t)(width >> 8), (uint8_t)width};
    buf_addstr(out, STR("\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\1\0\x90\0\x90\0\0" /* 144 pixels to the inch */
                        "\xff\xdb\0\x43\0"));
    buf_fill(out, STEP, 64);
    buf_addstr(out, STR("\xff\xc0\0\x11\x08"));
    buf_add(out, size, sizeof(size));
    buf_addstr(out, STR("\3\1\x11\0\2\x11\0\3\x11\0" /* codes: how many of each length, and what they stand for */
                        "\xff\xc4\0\x1f\0\1\0\0\0\0\0\0\0\x0b\0\0\0\0\0\0\0"
                        "\0\1\2\3\4\5\6\7\x08\x09\x0a\x0b"
                        "\xff\xc4\0\xb5\x10\1\0\0\0\0\0\0\0\xa1\0\0\0\0\0\0\0\0"));
    for (int run = 0; run < 16; run++)
        for (int n = 1; n <= SIZES; n++)
            buf_u8(out, (uint8_t)(run << 4 | n));
    buf_addstr(out, STR("\xf0\xff\xda\0\x0c\3\1\0\2\0\3\0\0\x3f\0"));
}

/* Brightness, and how far it is from there to blue and to red. Beyond the edge its last pixel goes on. */
static void take_block(const unsigned char *pixels, size_t stride, int x0, int y0, int width, int height,
                       double ret[3][8][8])
{
    for (int i = 0; i < 64; i++) {
        size_t x = (size_t)MIN(x0 + i % 8, width - 1), y = (size_t)MIN(y0 + i / 8, height - 1);
        uint32_t rgb;
        memcpy(&rgb, pixels + y * stride + x * sizeof(rgb), sizeof(rgb));
        double r = rgb >> 16 & 255, g = rgb >> 8 & 255, b = rgb & 255, light = 0.299 * r + 0.587 * g + 0.114 * b;
        ret[0][i / 8][i % 8] = light - 128;
        ret[1][i / 8][i % 8] = (b - light) / 1.772;
        ret[2][i / 8][i % 8] = (r - light) / 1.402;
    }
}

/* All its pixels are alike, as in most of a chart. */
static bool is_even(const unsigned char *pixels, size_t stride, int x0, int y0, int width, int height)
{
    const unsigned char *first = pixels + (size_t)y0 * stride + (size_t)x0 * sizeof(uint32_t);
    size_t row = (size_t)MIN(8, width - x0) * sizeof(uint32_t);
    bool even = memcmp(first, first + sizeof(uint32_t), row - sizeof(uint32_t)) == 0;
    for (int y = 1; even && y < MIN(8, height - y0); y++)
        even = memcmp(first, first + (size_t)y * stride, row) == 0;
    return even;
}

void jpeg_draw(struct buf *out, const unsigned char *pixels, size_t stride, int width, int height)
{
    struct jpeg j = {.out = out};
    int before[3] = {0};
    double block[3][8][8];
    for (int u = 0; u < 8; u++)
        for (int x = 0; x < 8; x++)
            j.wave[u][x] = (u ? 0.5 : sqrt(0.125)) * cos((2 * x + 1) * u * M_PI / 16);
    put_head(out, width, height);
    for (int y = 0; y < height && !out->err; y += 8)
        for (int x = 0; x < width; x += 8) {
            bool even = is_even(pixels, stride, x, y, width, height);
            take_block(pixels, stride, x, y, width, height, block);
            for (int c = 0; c < 3; c++)
                put_colour(&j, block[c], even, &before[c]);
        }
    put_bits(&j, 0x7f, 7); /* what is left of the last byte is ones */
    buf_addstr(out, STR("\xff\xd9"));
}
