/** The actions that each surface supports. */
export const FAULT_ACTIONS = {
  webhook: [
    'drop',
    'duplicate',
    'delay',
    'reorder',
    'tamper_body',
    'tamper_signature',
    'stale_timestamp',
    'truncate',
    'slow',
  ],
  api: ['status', 'reset', 'delay', 'not_persisted', 'lost_answer'],
  oauth: ['status', 'reset', 'delay', 'lost_answer'],
} as const;
