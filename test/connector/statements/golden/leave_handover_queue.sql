CREATE OR REPLACE FUNCTION connector.leave_handover_queue(connection text, number bigint)
 RETURNS SETOF connector.handover_queue
 LANGUAGE sql
 ROWS 1
 SET enable_seqscan TO 'off'
AS $function$
  DELETE FROM connector.handover_queue q WHERE q.connection_id = connection AND q.seq = number RETURNING q.*
$function$
