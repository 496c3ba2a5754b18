import type { RequestListener } from 'node:http';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import {
  type HttpServer,
  type HttpServerOptions,
  startHttpServer,
} from '../../src/runtime/http-server/http-server.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';

/** Serves an app on a free port, with the HTTP server of the project. */
export function listen(app: RequestListener, options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  return startHttpServer({
    app,
    host: '127.0.0.1',
    port: 0,
    clock: systemClock,
    logger: createLogger({ level: 'silent', name: 'test' }),
    ...options,
  });
}
