import { envLines } from '../../../../../src/contract/console/env-lines.ts';
import { sandbox } from '../../data/client.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { Facts } from '../../ui/about.tsx';
import { Button } from '../../ui/button.tsx';
import { copyText } from '../../ui/copy-text.ts';
import { Failure, ReadFailure } from '../../ui/states.tsx';
import { markSeen } from './steps-shown.ts';

const HIDDEN = '••••••••';

/** The `.env` of an application that calls this sandbox. The page shows no secret and keeps none: copying reads them. */
export function Environment() {
  const { data, error } = useRead({
    queryKey: ['info'],
    queryFn: async () => {
      const info = await sandbox('GET', '/info');
      return { ...info, apiKey: HIDDEN, connectorToken: info.connectorToken && HIDDEN };
    },
  });
  const copy = useAction({
    mutationFn: async () => copyText(`${envLines(await sandbox('GET', '/info')).join('\n')}\n`),
    onSuccess: () => markSeen('environment'),
  });
  if (data === undefined) return <ReadFailure error={error} />;
  const { sandboxUrl } = data;
  const addresses = [
    ['Service', data.baseUrl],
    ['Legacy address', data.legacyBaseUrl],
    ['OAuth', data.authUrl],
    ['Tools', data.mcpUrl],
    ['Control API', `${sandboxUrl}/sandbox/v1`],
    ['Connector', data.connectorUrl ?? undefined],
    ['Webhook', data.webhookUrl ?? undefined],
  ] as const;
  const documents = [
    ['service', `${sandboxUrl}/docs/service`],
    ['sandbox', `${sandboxUrl}/docs/sandbox`],
    ...(data.connectorUrl === null ? [] : [['connector', `${sandboxUrl}/docs/connector`]]),
  ];
  return (
    <section aria-label="Your application">
      <h2>Point your application here</h2>
      <figure className="code" aria-label="Environment">
        <figcaption>
          <span className="soft">.env</span>
          <span className="line">
            <span className="faint" role="status">
              {copy.isSuccess ? 'Copied with its secrets' : ''}
            </span>
            <Button action={copy}>Copy</Button>
          </span>
        </figcaption>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard */}
        <pre tabIndex={0}>{envLines(data).join('\n')}</pre>
      </figure>
      <p className="faint">
        Secrets are copied, not shown. In a terminal:{' '}
        <code className="command">npm run sandbox -- info apiKey</code>
      </p>
      <Failure error={copy.error} />
      <h2>Addresses</h2>
      <Facts
        valueClass="mono"
        facts={[
          ...addresses,
          [
            'OpenAPI',
            documents.map(([name = '', address]) => (
              <a key={name} href={address} className="document">
                {name}
              </a>
            )),
          ],
        ]}
      />
    </section>
  );
}
