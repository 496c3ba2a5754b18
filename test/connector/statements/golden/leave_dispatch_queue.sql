CREATE OR REPLACE FUNCTION connector.leave_dispatch_queue(connection text, number bigint)
 RETURNS SETOF connector.dispatch_entries
 LANGUAGE sql
 ROWS 1
 SET enable_seqscan TO 'off'
AS $function$
  DELETE FROM connector.dispatch_entries q WHERE q.connection_id = connection AND q.seq = number RETURNING q.*
$function$
