# Plain text: characters or bytes, cut in order.
. "$DDL_SOURCE/tests/programs/shard/lib.sh"

/usr/bin/python3 -c "print(''.join(chr(97 + i * i % 17) for i in range(5000)), end='')" >t.txt
expect_exit 0 ddl-shard build t.txt --context 16 -o t
expect_err 'format: text'
expect_seen t '[(s["name"], s["samples"]) for s in m["splits"]]' "[('train', 249), ('val', 31), ('test', 31)]"
expect_seen t '"".join(m["tokenizer"]["vocabulary"][i] for i in tokens("val")[0]) == open("t.txt").read()[4000:4017]' True
expect_seen t 'm["task"]' next-token

printf 'caf\xc3\xa9 cr\xc3\xa8me br\xc3\xbbl\xc3\xa9e' >f.txt
expect_exit 0 ddl-shard build f.txt --context 2 --val 0 --test 0 -o chars
expect_seen chars 'tokens("train").size' 24
expect_exit 0 ddl-shard build f.txt --context 2 --val 0 --test 0 --tokens bytes -o bytes
expect_seen bytes 'bytes(tokens("train")[:, 1:].ravel().tolist())' "$(/usr/bin/python3 -c 'd=open("f.txt","rb").read(); print(d[1:1+(len(d)-1)//2*2])')"

printf 'fine\nbad \377\n' >latin.txt
expect_refused latin.txt --context 2 -- latin.txt 'line 2' UTF-8 '--tokens bytes'
expect_refused f.txt --context 64 -- f.txt --context
