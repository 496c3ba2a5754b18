import { useRef } from 'react';
import type { Delivery } from '../../../../../src/contract/sandbox/deliveries.ts';
import type {
  ExplainSignatureRequest,
  SignatureExplanation,
} from '../../../../../src/contract/sandbox/signatures.ts';
import { SANDBOX_PREFIX, sandbox, shapeRequest } from '../../data/client.ts';
import { useAction } from '../../data/use-action.ts';
import { Facts } from '../../ui/about.tsx';
import { Chip } from '../../ui/chip.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { Field, Form, Submit } from '../../ui/form.tsx';
import { useKeys } from '../../ui/keys.ts';

const EXPLAIN = '/deliveries/{id}/explain-signature';

const header = (delivery: Delivery, name: string): string | undefined =>
  Object.entries(delivery.headers).find(([key]) => key.toLowerCase() === name)?.[1];

const LONGEST_BASE = 4_000;

/** What was signed, and why the signature that another server computed is another one. The secret stays on the server. */
export function Signature({ delivery }: { readonly delivery: Delivery }) {
  const signature = header(delivery, 'x-service-signature');
  const timestamp = header(delivery, 'x-service-timestamp');
  if (signature === undefined || timestamp === undefined) return null;
  const { body } = delivery;
  return (
    <section aria-label="Signature">
      <h2>Signature</h2>
      <p className="soft">
        HMAC-SHA256 with the secret of the webhook, in lowercase hexadecimal, over this base string: the
        timestamp, a dot, and the raw body, byte by byte.
      </p>
      <figure className="code" aria-label="Base string">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard */}
        <pre className="base" tabIndex={0}>
          <b>{timestamp}</b>
          <b className="dot">.</b>
          {body.slice(0, LONGEST_BASE)}
        </pre>
      </figure>
      {body.length > LONGEST_BASE ? (
        <p className="faint">The first {LONGEST_BASE.toLocaleString()} characters of the body are shown.</p>
      ) : null}
      <p className="mono">{signature}</p>
      <Explain id={delivery.id} timestamp={timestamp} />
    </section>
  );
}

/** A field that was left empty stands for what was sent. */
function readForm(given: FormData): ExplainSignatureRequest {
  const text = (name: keyof ExplainSignatureRequest): string => String(given.get(name) ?? '');
  const [timestamp, body] = [text('timestamp').trim(), text('body')];
  return {
    signature: text('signature').trim(),
    ...(timestamp === '' ? {} : { timestamp }),
    ...(body === '' ? {} : { body }),
  };
}

function Explain({ id, timestamp }: { readonly id: string; readonly timestamp: string }) {
  const form = useRef<HTMLFormElement>(null);
  const explain = useAction({
    mutationFn: (body: ExplainSignatureRequest) => sandbox('POST', EXPLAIN, { params: { id }, body }),
  });
  useKeys('Signature', [
    {
      keys: 's',
      label: 'Explain a signature',
      run: () => form.current?.querySelector('input')?.focus(),
    },
  ]);
  const { data, variables } = explain;
  return (
    <Form
      ref={form}
      label="Explain a signature"
      action={explain}
      onSubmit={(fields) => explain.mutate(readForm(fields))}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && event.target instanceof HTMLElement) event.target.blur();
      }}
    >
      <Field
        name="signature"
        label="Signature that your server computed"
        hint="It is compared with the one that was sent. The secret does not leave the server."
        aria-keyshortcuts="s"
        placeholder="sha256=…"
        required
      />
      <details className="wide">
        <summary>Timestamp and body that your server used</summary>
        <Field name="timestamp" label="Timestamp" placeholder={timestamp} />
        <Field name="body" label="Body, as text" rows={4} />
      </details>
      <div className="line">
        <Submit>Explain</Submit>
        {variables === undefined ? null : (
          <CopyAs
            request={shapeRequest(SANDBOX_PREFIX, 'POST', EXPLAIN, { params: { id }, body: variables })}
          />
        )}
      </div>
      {data === undefined || variables === undefined ? null : (
        <Explanation explained={data} given={variables.signature} />
      )}
    </Form>
  );
}

/** A text with one place marked, or its end. */
function Marked({ text, at }: { readonly text: string; readonly at: number | undefined }) {
  if (at === undefined) return <bdi>{text}</bdi>;
  return (
    <bdi>
      {text.slice(0, at)}
      <mark>{text[at] ?? '∅'}</mark>
      {text.slice(at + 1)}
    </bdi>
  );
}

function Explanation({
  explained,
  given,
}: {
  readonly explained: SignatureExplanation;
  readonly given: string;
}) {
  const { matches, expected, firstDifference, bodyDifference, cause, furtherCauses = [] } = explained;
  const at = firstDifference?.index;
  return (
    <div className="explanation" role="status">
      <div className="line">
        <Chip tone={matches ? 'good' : 'bad'}>{matches ? 'matches' : 'differs'}</Chip>
        {(cause === undefined ? [] : [cause, ...furtherCauses]).map((each) => (
          <Chip key={each} tone="warn">
            {each.replaceAll('_', ' ')}
          </Chip>
        ))}
      </div>
      <p>{explained.explanation}</p>
      <Facts
        valueClass="mono"
        facts={[
          ['Sent', <Marked key="s" text={expected} at={at} />],
          ['Yours', <Marked key="y" text={given} at={at} />],
        ]}
      />
      {at === undefined ? null : <p className="soft">They differ from character {at + 1} on.</p>}
      {bodyDifference === undefined ? null : (
        <>
          <p className="soft">The bodies differ from byte {bodyDifference.index + 1} on:</p>
          <Facts
            valueClass="mono"
            facts={[
              ['Sent', <bdi key="s">{bodyDifference.expected}</bdi>],
              ['Yours', <bdi key="y">{bodyDifference.actual}</bdi>],
            ]}
          />
        </>
      )}
      {matches ? null : (
        <p className="soft">
          <code>docs/patterns.md</code> shows how to verify a signature, and the mistakes to avoid.{' '}
          <code>src/patterns/verify-signature.ts</code> is code to copy.
        </p>
      )}
    </div>
  );
}
