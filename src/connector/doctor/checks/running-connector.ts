import { healthAnswer } from '../../../contract/connector/sync.ts';
import { explainUnreachable } from '../explain-unreachable.ts';
import type { Facts } from '../facts.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { reachable } from '../reachable-host.ts';

/** The connector of these settings runs on this machine, is ready, and has the same token. */
export const runningConnector: Check<Facts> = {
  id: 'connector',
  title: 'the connector on this machine',
  async look({ settings, signal }) {
    const { host, port, apiToken } = settings;
    if (port === 0) return notChecked('CONNECTOR_PORT is 0, so nobody knows where it listens.');
    const origin = `http://${reachable(host)}:${port}`;
    let ready: Response;
    try {
      ready = await fetch(`${origin}/readyz`, { signal });
    } catch (error) {
      return judgeSilence(origin, error);
    }
    const health = healthAnswer.safeParse(await ready.json().catch(() => null));
    if (!health.success) {
      return problem('Something else than the connector listens on its port.', {
        evidence: [`GET ${origin}/readyz was answered ${ready.status}.`],
        advice: ['Set CONNECTOR_PORT to a port of its own, here and in the settings of the connector.'],
      });
    }
    if (!health.data.ok) return judgeUnready(origin);
    if (apiToken === undefined)
      return ok('It runs and is ready.', { evidence: [`GET ${origin}/readyz: 200.`] });
    return await judgeToken(origin, apiToken, signal);
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
      'It does not reach its database or its queues, the service has not taken its settings, or the webhook was never registered. See what is said here about each of them; its log says which it is.',
    ],
  });
}

/** The token tells whether the process was started with the settings that are looked at now. */
async function judgeToken(origin: string, token: string, signal: AbortSignal): Promise<Finding> {
  const answer = await fetch(`${origin}/v1/openapi.json`, {
    headers: { authorization: `Bearer ${token}` },
    signal,
  });
  await answer.body?.cancel();
  const evidence = [`GET ${origin}/readyz: 200; GET /v1/openapi.json with the token: ${answer.status}.`];
  if (answer.status === 401) {
    return warning('It runs and is ready, but with another CONNECTOR_API_TOKEN than these settings have.', {
      evidence,
      advice: ['Restart it if its settings were changed since; or run this command where its settings are.'],
    });
  }
  return ok('It runs and is ready.', { evidence });
}
