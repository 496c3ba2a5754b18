/** What a state means to the reader. */
export type Tone = 'good' | 'warn' | 'bad' | 'plain';
