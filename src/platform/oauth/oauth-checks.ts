/** The checks of OAuth requests, for the trace of a call. Each endpoint has some of them, in its own order. */
export type OauthCheck =
  | 'method'
  | 'form'
  | 'client'
  | 'redirect_uri'
  | 'parameters'
  | 'challenge'
  | 'scope'
  | 'resource'
  | 'connections'
  | 'grant_type'
  | 'grant'
  | 'verifier'
  | 'page'
  | 'consent';
