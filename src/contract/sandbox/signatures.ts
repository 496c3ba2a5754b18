import { z } from 'zod';

/** Body of `POST /deliveries/{id}/explain-signature`. */
export const explainSignatureRequest = z.strictObject({
  signature: z
    .string()
    .min(1)
    .max(1000)
    .describe('The signature that your server computed, to be compared with `X-Service-Signature`.'),
  timestamp: z
    .string()
    .max(100)
    .optional()
    .describe('The timestamp that your server used; the one of the delivery by default.'),
  body: z
    .string()
    .max(2 * 1024 * 1024)
    .optional()
    .describe('The body that your server used, as text; the one of the delivery by default.'),
});
export type ExplainSignatureRequest = z.infer<typeof explainSignatureRequest>;

/** Mistakes that lead to another signature than the one that was sent. */
export const SIGNATURE_CAUSES = [
  'malformed',
  'prefix_missing',
  'uppercase_hex',
  'base64',
  'encoded_twice',
  'other_algorithm',
  'no_hmac',
  'key_and_message_swapped',
  'parsed_and_serialized',
  'body_missing',
  'body_encoded',
  'other_body',
  'charset',
  'byte_order_mark',
  'trailing_newline',
  'timestamp_left_out',
  'timestamp_in_seconds',
  'timestamp_format',
  'timestamp_separator',
  'parts_swapped',
  'other_timestamp',
  'wrong_secret',
  'old_secret',
  'new_secret',
  'secret_missing',
  'secret_whitespace',
  'secret_prefix_removed',
  'secret_decoded',
  'secret_encoded',
] as const;
export const signatureCause = z.enum(SIGNATURE_CAUSES);
export type SignatureCause = z.infer<typeof signatureCause>;

const differenceIn = (unit: string, shown: string) =>
  z.object({
    index: z.int().min(0).describe(`The first ${unit} that differs, counted from 0.`),
    expected: z.string().describe(`${shown} of what was sent; empty if it ended before.`),
    actual: z.string().describe(`${shown} of what your server had; empty if it ended before.`),
  });

/** Why a signature differs from the one that was sent. Contains no secret. */
export const signatureExplanation = z.object({
  matches: z.boolean().describe('Whether it is the signature that was sent. Hex digits in upper case match.'),
  expected: z.string().describe('The signature that was sent.'),
  firstDifference: differenceIn('character', 'The character')
    .optional()
    .describe('Where the signatures differ, if they do not match.'),
  bodyDifference: differenceIn('byte', 'Up to 16 bytes from there, as text,')
    .optional()
    .describe('Where `body` differs from the body that was sent, if it does.'),
  cause: signatureCause
    .optional()
    .describe('The mistake that leads to exactly this signature; absent if none was found.'),
  furtherCauses: z
    .array(signatureCause)
    .optional()
    .describe('Further mistakes that were made at the same time.'),
  explanation: z.string().describe('What is wrong, and what to do about it.'),
});
export type SignatureExplanation = z.infer<typeof signatureExplanation>;
