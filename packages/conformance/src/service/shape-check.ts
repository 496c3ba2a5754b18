import type { Bare } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import type { ServiceContext } from './context.ts';
import { expectStatus } from './judge.ts';
import type { ServiceCheck } from './service-check.ts';
import { demandShape, type Shape } from './shape.ts';

/** A check of the status and shape of a response; a `must`. */
export function shapeCheck(
  definition: Omit<Bare<ServiceCheck>, 'level' | 'run'> & {
    readonly ask: (context: ServiceContext) => Promise<Exchange>;
    /** Defaults to 200. */
    readonly status?: number;
    readonly shape: Shape;
  },
): Bare<ServiceCheck> {
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
