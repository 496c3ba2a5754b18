CREATE OR REPLACE FUNCTION connector.handover_head(connection text, most integer)
 RETURNS SETOF connector.handover_queue
 LANGUAGE sql
 STABLE ROWS 50
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
  SELECT * FROM connector.handover_queue q WHERE q.connection_id = connection ORDER BY q.seq LIMIT most
$function$
