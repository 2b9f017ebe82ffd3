// BT, block-tridiagonal: compressible flow by approximate factorization, in each dimension lines of
// 5 x 5 blocks. RNR-94-007; the multi-partition: NAS-95-020.
#include "adi.h"
#include "bt_block.h"

#include <string.h>

// Published with the reference implementation.
static const struct adi_problem problems[NAS_CLASSES] = {
    [CLASS_S] = {12,
                 60,
                 0.01,
                 {1.7034283709541311e-01, 1.2975252070034097e-02, 3.2527926989486055e-02,
                  2.6436421275166801e-02, 1.9211784131744430e-01},
                 {4.9976913345811579e-04, 4.5195666782961927e-05, 7.3973765172921357e-05,
                  7.3821238632439731e-05, 8.9269630987491446e-04}},
    [CLASS_W] = {24,
                 200,
                 0.0008,
                 {0.1125590409344e+03, 0.1180007595731e+02, 0.2710329767846e+02,
                  0.2469174937669e+02, 0.2638427874317e+03},
                 {0.4419655736008e+01, 0.4638531260002e+00, 0.1011551749967e+01,
                  0.9235878729944e+00, 0.1018045837718e+02}},
    [CLASS_A] = {64,
                 200,
                 0.0008,
                 {1.0806346714637264e+02, 1.1319730901220813e+01, 2.5974354511582465e+01,
                  2.3665622544678910e+01, 2.5278963211748344e+02},
                 {4.2348416040525025e+00, 4.4390282496995698e-01, 9.6692480136345650e-01,
                  8.8302063039765474e-01, 9.7379901770829278e+00}},
    [CLASS_B] = {102,
                 200,
                 0.0003,
                 {1.4233597229287254e+03, 9.9330522590150238e+01, 3.5646025644535285e+02,
                  3.2485447959084092e+02, 3.2707541254659363e+03},
                 {5.2969847140936856e+01, 4.4632896115670668e+00, 1.3122573342210174e+01,
                  1.2006925323559144e+01, 1.2459576151035986e+02}},
    [CLASS_C] = {162,
                 200,
                 0.0001,
                 {0.62398116551764615e+04, 0.50793239190423964e+03, 0.15423530093013596e+04,
                  0.13302387929291190e+04, 0.11604087428436455e+05},
                 {0.16462008369091265e+03, 0.11497107903824313e+02, 0.41207446207461508e+02,
                  0.37087651059694167e+02, 0.36211053051841265e+03}},
};

// From the first point of a line to its last. The border is the equation before the line, then its
// last.
static void eliminate_line(const struct line *line)
{
    const struct fields *fields = line->fields;
    double *solved = line->equations;
    struct point_blocks blocks[3]; // of the point before, the point, the next, by turns
    for (int i = -1; i < 1; i++) {
        ptrdiff_t point = line->start + i * line->stride;
        set_point_blocks(fields->u + point * VARIABLES, fields->derived + point, line->axis,
                         line->by, &blocks[i + 1]);
    }
    const double *before = line->border;
    for (int i = 0; i < line->length; i++) {
        ptrdiff_t point = line->start + i * line->stride, next = point + line->stride;
        struct point_blocks *after = &blocks[(i + 2) % 3];
        set_point_blocks(fields->u + next * VARIABLES, fields->derived + next, line->axis, line->by,
                         after);
        eliminate_block(&blocks[i % 3], &blocks[(i + 1) % 3], after,
                        fields->rhs + point * VARIABLES, before, solved);
        before = solved;
        solved += EQUATION;
    }
    memcpy(line->border, before, EQUATION * sizeof *before);
}

// From the last point to the first. The border is the solution after the line, then its first.
static void substitute_line(const struct line *line)
{
    const double *solved = line->equations;
    double *border = line->border;
    for (int i = line->length - 1; i >= 0; i--) {
        const double *row = solved + i * EQUATION;
        double *x = line->fields->rhs + (line->start + i * line->stride) * VARIABLES;
        for (int m = 0; m < VARIABLES; m++, row += ROW) {
            x[m] = row[VARIABLES];
            for (int k = 0; k < VARIABLES; k++)
                x[m] -= row[k] * border[k];
        }
        memcpy(border, x, VARIABLES * sizeof *border);
    }
}

const struct adi_program adi_program = {
    .program = {.name = "bt",
                .purpose = "NAS BT: flow by block-tridiagonal lines; run time in s",
                .takes = NAS_TAKES},
    .problems = problems,
    .lines = {.equation_values = EQUATION,
              .forward_values = EQUATION,
              .backward_values = VARIABLES,
              .eliminate = eliminate_line,
              .substitute = substitute_line},
};
