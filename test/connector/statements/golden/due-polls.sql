select p.account_id as "accountId", p.due_at as "plannedAt" from connector.poll_states p
      where p.account_id = any($1::text[]) and CASE WHEN p.due_at - $2::bigint > $4::bigint THEN $2::bigint ELSE p.due_at END <= $2
        and not EXISTS (SELECT held.owner FROM connector.leases held JOIN connector.processes living ON living.id = held.owner
    WHERE held.name = 'poll:' || p.account_id)
      order by p.due_at limit $3::integer
