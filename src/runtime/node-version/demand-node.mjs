// Imported for its effect, before anything that an older Node cannot load.
import { refuseOldNode } from './node-version.mjs';

const refusal = refuseOldNode();
if (refusal !== undefined) {
  const error = Object.assign(new Error(refusal), { code: 'ERR_NODE_TOO_OLD' });
  // Where this was found says nothing; what to do does.
  error.stack = `Error: ${refusal}`;
  throw error;
}
