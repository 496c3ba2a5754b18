import { z } from 'zod';
import { healthAnswer } from '../../../contract/connector/sync.ts';
import type { CheckInput } from '../check-input.ts';
import { explainUnreachable } from '../explain-unreachable.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { reachableHost } from '../wording.ts';

/** The connector with these settings runs on this machine, is ready, and has the same token. */
export const connectorCheck: Check<CheckInput> = {
  id: 'connector',
  title: 'the connector on this machine',
  async look({ settings, signal }) {
    const { host, port, apiToken } = settings;
    if (port === 0) return notChecked('CONNECTOR_PORT is 0, so nobody knows where it listens.');
    const origin = `http://${reachableHost(host)}:${port}`;
    let ready: Response;
    try {
      ready = await fetch(`${origin}/readyz`, { signal });
    } catch (error) {
      return judgeSilence(origin, error);
    }
    const health = healthAnswer.safeParse(await ready.json().catch(() => null));
    if (health.success && !health.data.ok) return judgeUnready(origin);
    const evidence = [`GET ${origin}/readyz: ${ready.status}.`];
    if (health.success && apiToken === undefined) return ok('It runs and is ready.', { evidence });
    const api = await askApi(origin, apiToken, signal);
    evidence.push(
      `GET ${origin}/v1/openapi.json${apiToken === undefined ? '' : ' with the token'}: ${api.status}.`,
    );
    if (!health.success && !api.isOurs) {
      return problem('Something other than the connector listens on its port.', {
        evidence,
        advice: [
          'If it is a proxy, it passes on neither /readyz nor /v1, or reaches no connector: ask one behind it, CONNECTOR_HOST=… CONNECTOR_PORT=… npm run doctor.',
          'Else set CONNECTOR_PORT to a port of its own, here and in the settings of the connector.',
        ],
      });
    }
    if (apiToken !== undefined && api.status === 401) {
      const how = health.success ? 'It runs and is ready' : 'It answers behind a proxy';
      return warning(`${how}, but with another CONNECTOR_API_TOKEN than these settings have.`, {
        evidence,
        advice: [
          'Restart it if its settings were changed since; or run this command where its settings are.',
        ],
      });
    }
    return health.success
      ? ok('It runs and is ready.', { evidence })
      : ok('The connector answers behind a proxy, which does not pass on /readyz.', { evidence });
  },
};

function judgeSilence(origin: string, error: unknown): Finding {
  const { kind, says, advice } = explainUnreachable(error, new URL(origin).host);
  if (kind === 'refused') {
    return notChecked(
      `Nothing listens at ${origin}: the connector does not run here, or on another CONNECTOR_HOST or CONNECTOR_PORT.`,
    );
  }
  return problem(`The connector does not answer. ${says}`, {
    evidence: [`GET ${origin}/readyz`],
    advice: [advice, 'A process that hangs can be killed: nothing that was acknowledged is lost.'],
  });
}

function judgeUnready(origin: string): Finding {
  return problem('The connector runs, but is not ready.', {
    evidence: [`GET ${origin}/readyz answers 503.`],
    advice: [
      'It does not reach its database or Redis, the service has not taken its settings, or the webhook was never registered. See what is said here about each of them; its log says which it is.',
    ],
  });
}

/**
 * The response of the API: its status, and whether it is from a connector. The token shows whether it runs with
 * these settings.
 */
async function askApi(
  origin: string,
  token: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly isOurs: boolean }> {
  const answer = await fetch(`${origin}/v1/openapi.json`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    signal,
  });
  const body = ANSWER.safeParse(await answer.json().catch(() => null));
  return { status: answer.status, isOurs: body.success };
}

/** The OpenAPI document, or the connector's refusal of a token. */
const ANSWER = z.union([
  z.object({ openapi: z.string(), paths: z.object({ '/v1/changes': z.unknown() }) }),
  z.object({ error: z.literal('unauthorized') }),
]);
