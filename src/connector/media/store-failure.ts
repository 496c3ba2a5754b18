/** The store of files does not answer, or refuses. Whatever was asked can be asked again. */
export class StoreFailure extends Error {
  override readonly name = 'StoreFailure';
}

/** The store refuses this object and takes others. Nothing of it is stored. */
export class ObjectRefused extends StoreFailure {}
