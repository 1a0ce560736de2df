// The shapes this folder computes with: dense row-major matrices of float or double. A vector is a matrix of one row.
//
// Views own nothing and are passed by value; whoever made the memory keeps it alive.
#ifndef LOCKSTEP_EXAMPLES_NN_MATRIX_H_
#define LOCKSTEP_EXAMPLES_NN_MATRIX_H_

#include "Eigen/Core"

namespace nn {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using MatrixView = Eigen::Map<Matrix<T>>;
template <typename T>
using ConstMatrixView = Eigen::Map<const Matrix<T>>;

}  // namespace nn

#endif  // LOCKSTEP_EXAMPLES_NN_MATRIX_H_
