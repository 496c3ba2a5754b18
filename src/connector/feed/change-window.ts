import type { Change } from '../../contract/connector/changes.ts';

/** The newest changes in memory, so that many live readers cost one query. */
export class ChangeWindow {
  readonly #capacity: number;
  #changes: Change[] = [];
  #end: number;

  /** Starts empty after `position`; holds up to `capacity` changes. */
  constructor(position: number, capacity: number) {
    this.#end = position;
    this.#capacity = capacity;
  }

  /** The `seq` up to which the window has been filled. */
  get end(): number {
    return this.#end;
  }

  /** Adds the changes that follow `end`, in order and without gaps. The oldest changes make room. */
  append(changes: readonly Change[]): void {
    const last = changes.at(-1);
    if (last === undefined) return;
    this.#changes.push(...changes);
    this.#end = last.seq;
    if (this.#changes.length > 2 * this.#capacity) this.#changes = this.#changes.slice(-this.#capacity);
  }

  /** Up to `limit` changes above `after`; undefined if the window does not reach back that far. */
  after(after: number, limit: number): readonly Change[] | undefined {
    const first = this.#changes[0]?.seq ?? this.#end + 1;
    if (after < first - 1) return undefined;
    const from = after - first + 1;
    return this.#changes.slice(from, from + limit);
  }
}
