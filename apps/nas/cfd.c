#include "cfd.h"

// Of 1; x, y, z; their squares, cubes and fourth powers: RNR-94-007
static const double polynomials[VARIABLES][13] = {
    {2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
    {1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
    {5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
};

void exact_solution(const double position[AXES], double u[VARIABLES])
{
    for (int m = 0; m < VARIABLES; m++) {
        const double *c = polynomials[m];
        u[m] = c[0];
        for (int axis = 0; axis < AXES; axis++) {
            double x = position[axis];
            u[m] += x * (c[1 + axis] + x * (c[4 + axis] + x * (c[7 + axis] + x * c[10 + axis])));
        }
    }
}

// Between the exact values on two opposite faces, linearly.
static void interpolate(const double position[AXES], int axis, double u[VARIABLES])
{
    double low[VARIABLES], high[VARIABLES], x = position[axis];
    double on_face[AXES] = {position[0], position[1], position[2]};
    on_face[axis] = 0.0;
    exact_solution(on_face, low);
    on_face[axis] = 1.0;
    exact_solution(on_face, high);
    for (int m = 0; m < VARIABLES; m++)
        u[m] = (1.0 - x) * low[m] + x * high[m];
}

// The three interpolations, less their products in pairs, and the product of all.
void transfinite(const double position[AXES], double u[VARIABLES])
{
    double p[AXES][VARIABLES];
    for (int axis = 0; axis < AXES; axis++)
        interpolate(position, axis, p[axis]);
    for (int m = 0; m < VARIABLES; m++) {
        double x = p[0][m], y = p[1][m], z = p[2][m];
        u[m] = x + y + z - x * y - x * z - y * z + x * y * z;
    }
}

void expect_norms(struct app *app, const double residual[VARIABLES],
                  const double published_residual[VARIABLES], const double error[VARIABLES],
                  const double published_error[VARIABLES])
{
    static const char *const residual_names[VARIABLES] = {
        "residual, density", "residual, x momentum", "residual, y momentum", "residual, z momentum",
        "residual, energy"};
    static const char *const error_names[VARIABLES] = {"error, density", "error, x momentum",
                                                       "error, y momentum", "error, z momentum",
                                                       "error, energy"};
    for (int m = 0; m < VARIABLES; m++)
        app_expect(app, residual_names[m], residual[m], published_residual[m], TOLERANCE);
    for (int m = 0; m < VARIABLES; m++)
        app_expect(app, error_names[m], error[m], published_error[m], TOLERANCE);
}
