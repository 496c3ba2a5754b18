ALTER TABLE "connector"."dead_letters" ADD COLUMN "message_id" text;--> statement-breakpoint
UPDATE connector.dead_letters d SET message_id = h.message_id
  FROM connector.dead_letters n
 CROSS JOIN LATERAL (SELECT * FROM connector.change_batches b WHERE b.last_seq >= n.seq ORDER BY b.last_seq LIMIT 1) b
  JOIN connector.changes h ON h.batch = b.id AND h.position = b.size - (b.last_seq - n.seq)
 WHERE d.consumer = n.consumer AND d.seq = n.seq;--> statement-breakpoint
CREATE INDEX "dead_letters_message" ON "connector"."dead_letters" USING btree ("message_id") WHERE "connector"."dead_letters"."message_id" is not null;