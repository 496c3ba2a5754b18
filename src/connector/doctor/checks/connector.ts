import { z } from 'zod';
import { healthAnswer } from '../../../contract/connector/sync.ts';
import type { CheckInput } from '../check-input.ts';
import { explainUnreachable } from '../explain-unreachable.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { reachableHost } from '../places.ts';

/** The connector with these settings runs on this machine, is ready, and has the same token. */
export const connectorCheck: Check<CheckInput> = {
  id: 'connector',
  title: 'the connector on this machine',
  async run({ settings, signal }) {
    const { host, port, apiToken } = settings;
    if (port === 0) return notChecked('CONNECTOR_PORT is 0, so the port of the connector is unknown.');
    const origin = `http://${reachableHost(host)}:${port}`;
    let ready: Response;
    try {
      ready = await fetch(`${origin}/readyz`, { signal });
    } catch (error) {
      return judgeNoAnswer(origin, error);
    }
    const health = healthAnswer.safeParse(await ready.json().catch(() => null));
    if (health.success && !health.data.ok) return judgeUnready(origin);
    const evidence = [`GET ${origin}/readyz: ${ready.status}.`];
    if (health.success && apiToken === undefined) return ok('The connector runs and is ready.', { evidence });
    const api = await askApi(origin, apiToken, signal);
    evidence.push(
      `GET ${origin}/v1/accounts${apiToken === undefined ? '' : ' with the token'}: ${api.status}.`,
    );
    if (!health.success && !api.isOurs) {
      return problem('Something other than the connector listens on its port.', {
        evidence,
        advice: [
          'If it is a proxy, it forwards neither /readyz nor /v1, or does not reach a connector. Check a connector behind it: CONNECTOR_HOST=… CONNECTOR_PORT=… npm run doctor.',
          'Otherwise set CONNECTOR_PORT to a free port, here and in the settings of the connector.',
        ],
      });
    }
    if (apiToken !== undefined && api.status === 401) {
      const how = health.success ? 'The connector runs and is ready' : 'The connector answers behind a proxy';
      return warning(`${how}, but with a CONNECTOR_API_TOKEN that differs from these settings.`, {
        evidence,
        advice: [
          'If its settings have changed since it started, restart it. Otherwise run this command with the settings that it uses.',
        ],
      });
    }
    return health.success
      ? ok('The connector runs and is ready.', { evidence })
      : ok('The connector answers behind a proxy, which does not forward /readyz.', { evidence });
  },
};

function judgeNoAnswer(origin: string, error: unknown): Finding {
  const { kind, says, advice } = explainUnreachable(error, new URL(origin).host);
  if (kind === 'refused') {
    return notChecked(
      `Nothing listens at ${origin}: the connector does not run on this machine, or uses a different CONNECTOR_HOST or CONNECTOR_PORT.`,
    );
  }
  return problem(`The connector does not answer. ${says}`, {
    evidence: [`GET ${origin}/readyz`],
    advice: [advice, 'A process that hangs can be killed: no acknowledged event is lost.'],
  });
}

function judgeUnready(origin: string): Finding {
  return problem('The connector runs, but is not ready.', {
    evidence: [`GET ${origin}/readyz was answered with 503.`],
    advice: [
      'It cannot reach its database, the service has not accepted its settings, or the webhook was never registered. Its log contains the reason.',
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
  const answer = await fetch(`${origin}/v1/accounts`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    signal,
  });
  const body = ANSWER.safeParse(await answer.json().catch(() => null));
  return { status: answer.status, isOurs: body.success };
}

/** The list of accounts, or the connector's refusal of a token. */
const ANSWER = z.union([
  z.object({ accounts: z.array(z.unknown()) }),
  z.object({ error: z.literal('unauthorized') }),
]);
