import { type PairingCodeAnswer, pairingCodeRequest } from '../../contract/service/connections.ts';
import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { readShape } from '../calls/read-shape.ts';
import { requestCode } from '../connections/pairing/request-code.ts';
import type { PhoneNetwork } from '../network/network.ts';
import type { ChangeState } from '../time/state-change.ts';
import { readConnectionId } from './connection-path.ts';
import { defineEndpoint, type Endpoint, ok } from './endpoint.ts';

interface Dependencies {
  readonly changeState: ChangeState;
  readonly network: PhoneNetwork;
}

/** `POST /connections/{id}/pairing-code`. */
export function requestPairingCodeEndpoint(dependencies: Dependencies): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.requestPairingCode,
    read: (input) => ({
      connectionId: readConnectionId(input),
      phoneNumber: readShape(pairingCodeRequest, input.body).phoneNumber,
    }),
    async handle(credential, input) {
      const answer: PairingCodeAnswer = { code: await requestCode(dependencies, credential, input) };
      return ok(answer);
    },
  });
}
