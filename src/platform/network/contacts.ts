/** How a person on the network behaves. Times count from the send, in virtual ms; null means never. */
export interface ContactBehaviour {
  readonly onNetwork: boolean;
  readonly deliverAfterMs: number | null;
  readonly readAfterMs: number | null;
  readonly failAfterMs: number | null;
  /** Text the person answers with, a moment after having got a message. */
  readonly autoReply: string | null;
}

/** What the network took over for a phone. */
export interface PhoneMessage {
  readonly messageId: string;
  readonly connectionId: string;
  /** Digits of the sender. */
  readonly from: string;
  readonly text: string | null;
  /** Virtual epoch ms. */
  readonly at: number;
}

/** The people behind the network. A number never put behaves by the assumed defaults. */
export interface Contacts {
  /** Absent fields keep what they are. */
  put(phone: string, behaviour: Partial<ContactBehaviour>): Promise<ContactBehaviour>;
  get(phone: string): Promise<ContactBehaviour>;
  /** Everything that phone was really sent, oldest first: a double send shows as two. */
  received(phone: string): Promise<PhoneMessage[]>;
}
