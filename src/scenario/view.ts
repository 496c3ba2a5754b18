import { escapeMarkup } from '../conformance/report/escape-markup.ts';
import { STYLE } from '../conformance/report/html-style.ts';
import { showOffset, summarize } from './describe-cause.ts';
import { nameObserved } from './observe.ts';
import type { Cause, Observation, ObservedMessage, Scenario } from './scenario.ts';

/** A scenario as one HTML page, which loads nothing: its causes, and the journey of each message. */
export function writeView(scenario: Scenario): string {
  const { causes, observations, startedAt, endedAt } = scenario;
  const messages = observations.filter((one) => one.observed === 'message');
  const connections = observations.filter((one) => one.observed === 'connection');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Scenario of ${escapeMarkup(startedAt)}</title>
<style>${STYLE}${OWN_STYLE}</style>
<main>
<h1>Scenario of ${escapeMarkup(startedAt)}</h1>
<p class="soft">${count(causes.length, 'cause')}, ${count(messages.length, 'message')}, ${showOffset(Date.parse(endedAt) - Date.parse(startedAt))} of virtual time${scenario.complete ? '' : '; earlier causes are missing'}</p>
<h2>Causes</h2>
<table><thead><tr><th>#</th><th>time</th><th>what</th><th>call</th></tr></thead><tbody>
${causes.map(writeCause).join('\n')}
</tbody></table>
<h2>Messages</h2>
<div class="list">
${messages.map((message) => writeMessage(message, scenario)).join('\n')}
</div>
<h2>Connections</h2>
<table><thead><tr><th>connection</th><th>status</th><th>license</th></tr></thead><tbody>
${connections.map(writeConnection).join('\n')}
</tbody></table>
</main>
</html>
`;
}

const OWN_STYLE = `
table { border-collapse: collapse; width: 100%; background: var(--card); border: 1px solid var(--line); }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem; border-top: 1px solid var(--line); }
th { color: var(--soft); font-weight: 400; } td.n { font-variant-numeric: tabular-nums; white-space: nowrap; }
td code { overflow-wrap: anywhere; } ol { margin: .2rem 0; padding-left: 1.4rem; }
summary .status { color: var(--soft); }
`;

function count(amount: number, what: string): string {
  return `${amount} ${what}${amount === 1 ? '' : 's'}`;
}

function callOf({ surface, method, path, body }: Cause): string {
  return `${method} /${surface}${path}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`;
}

function writeCause(cause: Cause): string {
  const what = escapeMarkup(summarize(cause) ?? '');
  return `<tr id="cause-${cause.cause}"><td class="n">${cause.cause}</td><td class="n">${showOffset(cause.at)}</td><td>${what}</td><td><code>${escapeMarkup(callOf(cause))}</code></td></tr>`;
}

/** The causes that concern the connection and the contact of a message, then what became of its events. */
function writeMessage(message: ObservedMessage, { causes, names }: Scenario): string {
  const own = Object.entries(names)
    .filter(([, what]) => 'phoneNumber' in what && what.phoneNumber === message.connection)
    .map(([name]) => name);
  const steps = causes.filter((cause) => {
    const text = JSON.stringify(cause);
    return text.includes(message.peer) && own.some((name) => text.includes(name));
  });
  const caused = steps.map(
    ({ cause, at }) => `<li><a href="#cause-${cause}">cause ${cause}</a> at ${showOffset(at)}</li>`,
  );
  const delivered = message.deliveries.map((delivery) => `<li>${escapeMarkup(delivery)}</li>`);
  const tone = message.status === 'failed' ? 'fail' : 'pass';
  return `<details class="${tone}"><summary><i class="dot"></i><span class="rule">${escapeMarkup(nameObserved(message))}</span><span class="status">${message.status}</span></summary>
<div class="more"><p>${escapeMarkup(message.text ?? 'no text')}</p><ol>${[...caused, ...delivered].join('')}</ol></div></details>`;
}

function writeConnection(one: Extract<Observation, { observed: 'connection' }>): string {
  const reconnect = one.needsReconnect ? ', needs to be paired again' : '';
  return `<tr><td class="n">${escapeMarkup(one.connection)}</td><td>${one.status}${reconnect}</td><td>${one.licenseStatus}</td></tr>`;
}
