CREATE OR REPLACE FUNCTION connector.dispatch_head(connection text, most integer)
 RETURNS SETOF connector.dispatch_entries
 LANGUAGE sql
 STABLE ROWS 50
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
  SELECT * FROM connector.dispatch_entries q WHERE q.connection_id = connection ORDER BY q.seq LIMIT most
$function$
