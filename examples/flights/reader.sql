SELECT clock_timestamp(), count(*), sum(late) FROM mart.departure_daily WHERE flown_on >= '2001-01-01' AND flown_on < '2001-08-01';
