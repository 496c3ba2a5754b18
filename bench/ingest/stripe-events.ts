/** The JSON of a `customer.updated` event for a customer of its own. `at` is in epoch ms. */
export function writeStripeEvent(run: number, index: number, at: number): string {
  const number = `${run.toString(36).padStart(4, '0')}${index.toString(36).padStart(8, '0')}`;
  const created = Math.floor(at / 1000);
  const customer = {
    id: `cus_${number}`,
    object: 'customer',
    address: null,
    balance: 0,
    created,
    currency: 'eur',
    default_source: null,
    delinquent: false,
    description: null,
    discount: null,
    email: `customer-${number}@example.com`,
    invoice_prefix: number.toUpperCase(),
    invoice_settings: {
      custom_fields: null,
      default_payment_method: null,
      footer: null,
      rendering_options: null,
    },
    livemode: false,
    metadata: {},
    name: `Customer ${number}`,
    next_invoice_sequence: 1,
    phone: null,
    preferred_locales: [],
    shipping: null,
    tax_exempt: 'none',
  };
  return JSON.stringify({
    id: `evt_${number}`,
    object: 'event',
    api_version: '2020-08-27',
    created,
    data: { object: customer, previous_attributes: { delinquent: true } },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type: 'customer.updated',
  });
}
