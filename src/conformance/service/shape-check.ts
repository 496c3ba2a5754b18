import type { Exchange } from '../runner/exchange.ts';
import type { ServiceContext } from './context.ts';
import { expectStatus } from './judge.ts';
import type { ServiceCheck } from './service-check.ts';
import { demandShape, type Shape } from './shape.ts';

/** A check of an answer by its status and its shape alone; a `must`. */
export function shapeCheck(
  definition: Omit<ServiceCheck, 'level' | 'run'> & {
    readonly ask: (context: ServiceContext) => Promise<Exchange>;
    /** 200 unless told. */
    readonly status?: number;
    readonly shape: Shape;
  },
): ServiceCheck {
  const { ask, status = 200, shape, ...check } = definition;
  return {
    ...check,
    level: 'must',
    async run(context, probe) {
      const exchange = await ask(context);
      expectStatus(exchange, status);
      demandShape(exchange, shape, probe);
    },
  };
}
