SELECT clock_timestamp(), count(*), sum(tax) FROM mart.receipt_daily WHERE sold_on >= '2026-04-01' AND sold_on < '2026-10-01';
