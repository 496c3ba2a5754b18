import { readFileSync } from 'node:fs';
import { z } from 'zod';

const form = z.strictObject({ form: z.string().min(1), url: z.string().min(1) });
const vectors = z.strictObject({
  refused: z.array(form),
  refused_when_it_leads_to: z.array(
    z.strictObject({ what: z.string().min(1), addresses: z.array(z.string()).min(1) }),
  ),
  accepted: z.array(form),
});

/** Addresses as literals; `{port}` stands for the port of the listener. */
export function readAddressVectors(): z.infer<typeof vectors> {
  const file = new URL('../vectors/webhook-addresses.json', import.meta.url);
  return vectors.parse(JSON.parse(readFileSync(file, 'utf8')));
}
