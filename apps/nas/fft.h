// Fast Fourier transforms along one dimension of an array, several lines of it side by side.
//
// Lines are copied into a block that fits in a cache, transformed there, and copied back. Real and
// imaginary parts are apart in it, and elements of the same index side by side, so that processors
// can work on several lines at once.
#ifndef FISHPLATE_APPS_FFT_H
#define FISHPLATE_APPS_FFT_H

#include <complex.h>
#include <stddef.h>

// Lines in a block. 8 complex numbers fill two cache lines; with more, a block of 512 elements and
// the one it is transformed into leave the second-level cache.
enum { FFT_LINES = 8 };

struct fft {
    int length; // a power of two
    double *cosine, *sine; // of the roots of unity, exp(-2 pi i k / length)
    double *real, *imaginary; // the block: [element][line]
    double *spare_real, *spare_imaginary; // of the same size, for steps that cannot be in place
};

enum fft_direction { FFT_FORWARD, FFT_INVERSE };

void fft_create(struct fft *fft, int length);
void fft_destroy(struct fft *fft);

// Transforms all lines of the block. The inverse is not divided by the length.
void fft_transform(struct fft *fft, enum fft_direction direction);

// Lines that lie side by side: element k of them is at offsets[k] and after.
void fft_load_columns(struct fft *fft, const double complex *from, const size_t *offsets);
void fft_store_columns(const struct fft *fft, double complex *to, const size_t *offsets);

// Lines of which each is contiguous: line l starts at offsets[l].
void fft_load_rows(struct fft *fft, const double complex *from, const size_t *offsets);
void fft_store_rows(const struct fft *fft, double complex *to, const size_t *offsets);

#endif
