import { useState } from 'react';
import type { RequestShape } from '../data/client.ts';
import { copyText } from './copy-text.ts';
import { Menu, MenuButton } from './menu.tsx';
import './screen.css';

/** `'` inside of single quotes of a shell. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A request as a line for a shell. */
export function asCurl({ method, path, body }: RequestShape, origin: string): string {
  const words = [`curl -s${method === 'GET' ? '' : ` -X ${method}`} ${quote(origin + path)}`];
  if (body !== undefined)
    words.push(`-H 'content-type: application/json'`, `-d ${quote(JSON.stringify(body))}`);
  return words.join(' \\\n  ');
}

/** A request as a test that expects it to succeed. */
export function asVitest({ method, path, body }: RequestShape, origin: string): string {
  const options =
    body === undefined
      ? method === 'GET'
        ? ''
        : `, { method: '${method}' }`
      : `, {\n    method: '${method}',\n    headers: { 'content-type': 'application/json' },\n    body: JSON.stringify(${JSON.stringify(body)}),\n  }`;
  return [
    "import { expect, it } from 'vitest';",
    '',
    `it(${JSON.stringify(`${method} ${path.split('?')[0]}`)}, async () => {`,
    `  const response = await fetch(${JSON.stringify(origin + path)}${options});`,
    '  expect(response.status).toBe(200);',
    '});',
    '',
  ].join('\n');
}

const FORMS = [
  ['curl', asCurl],
  ['vitest test', asVitest],
] as const;

/** Something that can be copied beside the request itself. */
export interface CopyItem {
  readonly label: string;
  readonly text: string;
}

/** A menu that copies what the page does as something a script can do. */
export function CopyAs({
  request,
  items = [],
}: {
  readonly request: RequestShape;
  readonly items?: readonly CopyItem[];
}) {
  const [copied, setCopied] = useState<string>();
  const all = [...FORMS.map(([label, form]) => ({ label, text: form(request, location.origin) })), ...items];
  const copy = async ({ label, text }: CopyItem): Promise<void> => {
    await copyText(text);
    setCopied(label);
  };
  return (
    <span className="copy-as">
      <Menu label="Copy as" onClick={() => setCopied(undefined)}>
        {all.map((item) => (
          <MenuButton key={item.label} onClick={() => copy(item)}>
            {item.label}
          </MenuButton>
        ))}
      </Menu>
      <span className="faint" role="status">
        {copied === undefined ? '' : `${copied} copied`}
      </span>
    </span>
  );
}
