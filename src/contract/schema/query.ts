import { z } from 'zod';

const decimal = /^-?\d{1,15}$/;

/** Bounds of an integer in a query string. */
export interface QueryIntegerBounds {
  readonly min: number;
  readonly max: number;
  readonly default: number;
}

/**
 * An integer in a query string: decimal digits only, so that `1e2`, `0x10` and ` 5` are rejected instead of
 * guessed. An absent value becomes the default.
 */
export function queryInteger(bounds: QueryIntegerBounds) {
  return z
    .string()
    .regex(decimal, 'must be an integer')
    .transform(Number)
    .pipe(z.int().min(bounds.min).max(bounds.max))
    .default(bounds.default);
}

/** An integer in a query string without an upper bound; an absent value stays absent. */
export function optionalQueryInteger(bounds: { readonly min: number }) {
  return z
    .string()
    .regex(decimal, 'must be an integer')
    .transform(Number)
    .pipe(z.int().min(bounds.min))
    .optional();
}
