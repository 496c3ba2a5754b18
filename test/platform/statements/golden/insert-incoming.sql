INSERT INTO platform.messages (id, workspace_id, connection_id, direction, peer, text, wa_message_id,
    media_id, media_type, status, receipts, created_at)
  SELECT m.id, $7, $8, 'incoming', m.peer, m.text, m.wa_id, m.media_id, m.media_type, $9, $10, $11
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    WITH ORDINALITY AS m (id, peer, text, wa_id, media_id, media_type, place)
  ORDER BY m.place
