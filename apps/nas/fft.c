#include "fft.h"

#include "buffer.h"

#include <math.h>
#include <stdlib.h>

static const double PI = 3.14159265358979323846;

void fft_create(struct fft *fft, int length)
{
    size_t roots = (size_t)length * sizeof(double);
    size_t block = roots * FFT_LINES;
    *fft = (struct fft){.length = length,
                        .cosine = allocate(roots), .sine = allocate(roots),
                        .real = allocate(block), .imaginary = allocate(block),
                        .spare_real = allocate(block), .spare_imaginary = allocate(block)};
    for (int k = 0; k < length; k++) {
        fft->cosine[k] = cos(2 * PI * k / length);
        fft->sine[k] = -sin(2 * PI * k / length);
    }
}

void fft_destroy(struct fft *fft)
{
    free(fft->cosine);
    free(fft->sine);
    free(fft->real);
    free(fft->imaginary);
    free(fft->spare_real);
    free(fft->spare_imaginary);
}

// A step of the Stockham algorithm, decimation in frequency: what is left to transform are `stride`
// interleaved sequences of `length` elements. Element q of them at index p is q + stride * p.
struct step {
    int length;
    int stride;
    const double *from_real, *from_imaginary;
    double *to_real, *to_imaginary;
};

static void butterflies_2(const struct step *step)
{
    // Only ever the last step, where all factors are one.
    size_t half = (size_t)step->stride * FFT_LINES;
    const double *restrict ar = step->from_real, *restrict br = ar + half;
    const double *restrict ai = step->from_imaginary, *restrict bi = ai + half;
    double *restrict yr = step->to_real, *restrict yi = step->to_imaginary;
    for (size_t i = 0; i < half; i++) {
        yr[i] = ar[i] + br[i];
        yi[i] = ai[i] + bi[i];
        yr[i + half] = ar[i] - br[i];
        yi[i + half] = ai[i] - bi[i];
    }
}

struct factors {
    double r1, i1, r2, i2, r3, i3; // the first three powers of a root of unity
};

// `apart`: doubles from one input to the next; `run`: as many are transformed, and lie between one
// output and the next.
static void butterflies_4(const double *restrict xr, const double *restrict xi, size_t apart,
                          double *restrict yr, double *restrict yi, size_t run,
                          const struct factors f)
{
    for (size_t first = 0; first < run; first += FFT_LINES) {
        // The compiler knows how many these are, and makes vectors of them.
        for (size_t i = first; i < first + FFT_LINES; i++) {
            double ar = xr[i], br = xr[i + apart], cr = xr[i + 2 * apart], dr = xr[i + 3 * apart];
            double ai = xi[i], bi = xi[i + apart], ci = xi[i + 2 * apart], di = xi[i + 3 * apart];
            double sum_r = ar + cr, sum_i = ai + ci, difference_r = ar - cr, difference_i = ai - ci;
            double odd_r = br + dr, odd_i = bi + di;
            double turned_r = bi - di, turned_i = dr - br; // -i (b - d)
            double r1 = difference_r + turned_r, i1 = difference_i + turned_i;
            double r2 = sum_r - odd_r, i2 = sum_i - odd_i;
            double r3 = difference_r - turned_r, i3 = difference_i - turned_i;
            yr[i] = sum_r + odd_r;
            yi[i] = sum_i + odd_i;
            yr[i + run] = f.r1 * r1 - f.i1 * i1;
            yi[i + run] = f.r1 * i1 + f.i1 * r1;
            yr[i + 2 * run] = f.r2 * r2 - f.i2 * i2;
            yi[i + 2 * run] = f.r2 * i2 + f.i2 * r2;
            yr[i + 3 * run] = f.r3 * r3 - f.i3 * i3;
            yi[i + 3 * run] = f.r3 * i3 + f.i3 * r3;
        }
    }
}

static void step_4(const struct fft *fft, const struct step *step)
{
    int quarter = step->length / 4;
    size_t run = (size_t)step->stride * FFT_LINES;
    for (int p = 0; p < quarter; p++) {
        int root = p * step->stride; // p / step->length of a turn
        struct factors factors = {fft->cosine[root], fft->sine[root],
                                  fft->cosine[2 * root], fft->sine[2 * root],
                                  fft->cosine[3 * root], fft->sine[3 * root]};
        size_t in = run * (size_t)p, out = 4 * in;
        butterflies_4(step->from_real + in, step->from_imaginary + in, run * (size_t)quarter,
                      step->to_real + out, step->to_imaginary + out, run, factors);
    }
}

static void swap(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

void fft_transform(struct fft *fft, enum fft_direction direction)
{
    // With both parts exchanged before and after, the forward transform is the inverse.
    if (direction == FFT_INVERSE)
        swap(&fft->real, &fft->imaginary);
    int stride = 1;
    for (int length = fft->length; length > 1; length /= 4, stride *= 4) {
        struct step step = {length, stride, fft->real, fft->imaginary, fft->spare_real,
                            fft->spare_imaginary};
        if (length == 2)
            butterflies_2(&step);
        else
            step_4(fft, &step);
        swap(&fft->real, &fft->spare_real);
        swap(&fft->imaginary, &fft->spare_imaginary);
    }
    if (direction == FFT_INVERSE)
        swap(&fft->real, &fft->imaginary);
}

void fft_load_columns(struct fft *fft, const double complex *from, const size_t *offsets)
{
    double *restrict real = fft->real, *restrict imaginary = fft->imaginary;
    for (int k = 0; k < fft->length; k++, real += FFT_LINES, imaginary += FFT_LINES) {
        const double *parts = (const double *)(from + offsets[k]);
        for (int line = 0; line < FFT_LINES; line++) {
            real[line] = parts[2 * line];
            imaginary[line] = parts[2 * line + 1];
        }
    }
}

void fft_store_columns(const struct fft *fft, double complex *to, const size_t *offsets)
{
    const double *real = fft->real, *imaginary = fft->imaginary;
    for (int k = 0; k < fft->length; k++, real += FFT_LINES, imaginary += FFT_LINES) {
        double *restrict parts = (double *)(to + offsets[k]);
        for (int line = 0; line < FFT_LINES; line++) {
            parts[2 * line] = real[line];
            parts[2 * line + 1] = imaginary[line];
        }
    }
}

void fft_load_rows(struct fft *fft, const double complex *from, const size_t *offsets)
{
    for (int line = 0; line < FFT_LINES; line++) {
        const double *parts = (const double *)(from + offsets[line]);
        double *restrict real = fft->real + line, *restrict imaginary = fft->imaginary + line;
        for (int k = 0; k < fft->length; k++) {
            real[k * FFT_LINES] = parts[2 * k];
            imaginary[k * FFT_LINES] = parts[2 * k + 1];
        }
    }
}

void fft_store_rows(const struct fft *fft, double complex *to, const size_t *offsets)
{
    for (int line = 0; line < FFT_LINES; line++) {
        const double *real = fft->real + line, *imaginary = fft->imaginary + line;
        double *restrict parts = (double *)(to + offsets[line]);
        for (int k = 0; k < fft->length; k++) {
            parts[2 * k] = real[k * FFT_LINES];
            parts[2 * k + 1] = imaginary[k * FFT_LINES];
        }
    }
}
